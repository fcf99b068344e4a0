"""Fine-tuning: a trained BERT or ViT learns the classes of somebody's own texts or pictures."""
