package source

import "testing"

func TestYearIsGuessedOnlyFromASingleYear(t *testing.T) {
	t.Parallel()
	named := func(name string) Document { return Document{Original: Original{Name: name}} }
	for what, c := range map[string]struct {
		document Document
		want     YearGuess
	}{
		"file name":              {named("codd-1970.pdf"), YearGuess{1970, GuessFromFileName}},
		"letters around it":      {named("codd1970final.pdf"), YearGuess{1970, GuessFromFileName}},
		"path":                   {Document{ExternalID: "2019/codd_1970.pdf"}, YearGuess{1970, GuessFromFileName}},
		"arXiv name":             {named("1706.03762v7.pdf"), YearGuess{2017, GuessFromFileName}},
		"arXiv name like a year": {named("2011.12345.pdf"), YearGuess{2020, GuessFromFileName}},
		"file name before text": {
			Document{Original: Original{Name: "a 1999.txt"}, Text: "In 1850"}, YearGuess{1999, GuessFromFileName},
		},
		"text":                     {Document{Text: "Report of 1998.\n© 1998 A."}, YearGuess{1998, GuessFromText}},
		"two years in the name":    {named("1984-2019.pdf"), YearGuess{}},
		"two years in the text":    {Document{Text: "From 1914 to 1918."}, YearGuess{}},
		"longer number":            {Document{Text: "Call 20195551234."}, YearGuess{}},
		"future":                   {named("vision-2050.pdf"), YearGuess{}},
		"a record is not a file":   {Document{ExternalID: "W-2012"}, YearGuess{}},
		"the year is known":        {Document{Year: 1970, Text: "1998"}, YearGuess{}},
		"nothing":                  {Document{}, YearGuess{}},
		"a year after the present": {Document{Text: "In 1998, for 2030."}, YearGuess{1998, GuessFromText}},
	} {
		if got := guessYear(c.document, 2026); got != c.want {
			t.Errorf("%s: guessed %v, want %v", what, got, c.want)
		}
	}
}
