package analysis

// Languages returns the languages that have stop words and a stemmer, as ISO 639-1 codes, sorted.
func Languages() []string { return []string{"en"} }

// Guess returns the language of the text, or "" when it cannot tell.
func Guess(text string) string { return "" }
