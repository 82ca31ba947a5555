"""Google's side: headers, errors and models (`house`), and the Gemini generateContent protocol."""
