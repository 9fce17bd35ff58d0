"""What breaks, how often, how hot it was, and what breaks with it; pure."""
