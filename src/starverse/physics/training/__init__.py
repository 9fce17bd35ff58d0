"""What a training step costs: transformers, how they are laid out on cards, time and memory."""
