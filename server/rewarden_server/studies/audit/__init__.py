"""A reward, examined before training: what earns without an answer, and whether right answers are paid."""
