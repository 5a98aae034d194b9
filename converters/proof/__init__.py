"""The proof of a conversion: both sides run on the same inputs, and what they give is compared."""
