"""The screen: shows values, posts messages, decides nothing."""
