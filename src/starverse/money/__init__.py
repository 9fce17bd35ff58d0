"""What things cost: prices, postings and metering; pure, on integers."""
