"""What a schedule costs: perplexity of a real model with its own and with perturbed tables."""
