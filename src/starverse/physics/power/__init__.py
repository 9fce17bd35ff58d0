"""What draws power, and what is lost between the grid and the card; pure and vectorised."""
