"""Google's Gemini API: the generateContent protocol."""
