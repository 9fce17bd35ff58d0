"""The one loop, the state it keeps, and the seams it touches the world through."""
