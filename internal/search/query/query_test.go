package query

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

func parse(text string) Parsed { return Parse(analysis.New(""), text) }

// render formats a query in one line: terms with their counts, then clauses. The mark of a stop word is shown as a dot.
func render(q Parsed) string {
	var out []string
	for _, term := range q.Terms {
		word := term.Text
		if term.Count > 1 {
			word = fmt.Sprintf("%s*%d", word, term.Count)
		}
		out = append(out, word)
	}
	clauses := func(sign string, clauses []Clause) {
		names := map[Field]string{Any: "any", Title: "title", Author: "author", Text: "text"}
		for _, c := range clauses {
			out = append(out, sign+names[c.Field]+"("+strings.Join(c.Terms, ",")+")")
		}
	}
	clauses("+", q.Require)
	clauses("-", q.Exclude)
	return strings.ReplaceAll(strings.Join(out, " "), analysis.StopMark, ".")
}

func TestQueriesAreParsedAsDocumented(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"nothing":                {"", ""},
		"white space":            {" \t\n", ""},
		"words":                  {"What is known about ranking documents?", "known rank document"},
		"word twice":             {"fox and foxes", "fox*2"},
		"only stop words":        {"the who", ".the .who"},
		"phrase":                 {`"vector space" model`, "vector space model +any(vector,space)"},
		"phrase of one word":     {`"indexing"`, "index +any(index)"},
		"word and phrase":        {`fox "red fox"`, "fox*2 red +any(red,fox)"},
		"curly quotes":           {"“vector space”", "vector space +any(vector,space)"},
		"german quotes":          {"„vector space“", "vector space +any(vector,space)"},
		"french quotes":          {"«vector space»", "vector space +any(vector,space)"},
		"quotes within quotes":   {`“the «red fox» runs”`, "red fox run +any(red,fox,run)"},
		"mixed quotes":           {`“vector space" model`, "vector space model +any(vector,space)"},
		"quote inside a word":    {`foo"red fox"bar`, "foo red fox bar +any(red,fox)"},
		"unbalanced quote":       {`"vector space`, "vector space"},
		"unbalanced at the end":  {`"a red fox" runs"`, "red fox run +any(red,fox)"},
		"odd families":           {`«red "fox`, "red fox"},
		"empty phrase":           {`"" "?!" fox`, "fox"},
		"stop words in a phrase": {`"the art of war"`, "art war +any(art,,war)"},
		"stop words at its end":  {`"art of the"`, "art +any(art)"},
		"phrase of stop words":   {`"the who" tour`, ".the .who tour +any(.the,.who)"},
		"only that":              {`"the who"`, ".the .who +any(.the,.who)"},
		"quotes in a sentence": {
			`what do the people who fly mean by "fly by wire" systems`, "peopl fli*2 mean wire system",
		},
		"field in a sentence": {
			`what do the people who fly mean by it here author:"ada byron"`, "peopl fli mean here ada byron +author(ada,byron)",
		},
		"author":                   {"author:Knuth sorting", "knuth sort +author(knuth)"},
		"author phrase":            {`author:"Donald Knuth"`, "donald knuth +author(donald,knuth)"},
		"author in curly quotes":   {"author:“Donald Knuth”", "donald knuth +author(donald,knuth)"},
		"author with apostrophe":   {"author:o'neill", "o neill +author(o,neill)"},
		"author that is stop word": {"author:will poetry", ".will poetri +author(.will)"},
		"title":                    {"TITLE:foxes", "fox +title(fox)"},
		"title phrase":             {`title:"art of war"`, "art war +title(art,.of,war)"},
		"text":                     {`text:"art of war"`, "art war +text(art,,war)"},
		"text of stop words":       {"text:the fox", "fox"},
		"hyphens in a field":       {"title:state-of-the-art", "state art +title(state,.of,.the,art)"},
		"field with a space":       {"title: fox", "titl fox"},
		"field at the end":         {"fox title:", "fox titl"},
		"field with punctuation":   {"title:? fox", "titl fox"},
		"unknown field":            {"note:fox http://fox.org", "note fox*2 http org"},
		"field within a word":      {"subtitle:fox co-author:fox", "subtitl fox*2 co author"},
		"field of an open quote":   {`author:"knuth sorting`, "knuth sort"},
		"excluded word":            {"fox -red", "fox -any(red)"},
		"excluded phrase":          {`fox -"red fox"`, "fox -any(red,fox)"},
		"excluded author":          {"fox -author:Knuth", "fox -author(knuth)"},
		"excluded author phrase":   {`fox -Author:"donald knuth"`, "fox -author(donald,knuth)"},
		"excluded stop word":       {"fox -the", "fox -any(.the)"},
		"excluded hyphens":         {"fox -state-of-the-art", "fox -any(state,,,art)"},
		"excluded unknown field":   {"fox -note:red", "fox -any(note,red)"},
		"only exclusions":          {"-fox -author:knuth", "-any(fox) -author(knuth)"},
		"excluded and asked for":   {"fox -fox", "fox -any(fox)"},
		"hyphenated":               {"state-of-the-art", "state art"},
		"hanging hyphens":          {"pre- and post-processing -", "pre post process"},
		"double minus":             {"fox --red", "fox red"},
		"minus and space":          {"fox - red", "fox red"},
		"minus in brackets":        {"(-red)", "red"},
		"minus after a phrase":     {`"red fox"-hound`, "red fox hound +any(red,fox)"},
		"minus and an open quote":  {`fox -"red`, "fox red"},
		"minus before a number":    {"fox -5", "fox -any(5)"},
		"letter that ends in a0":   {"à-fox -à", "fox -any(.a)"},
		"bigrams":                  {"自然言語", "自然 然言 言語"},
		"bigrams in a phrase":      {`"自然言語"`, "自然 然言 言語 +any(自然,然言,言語)"},
		"bigrams in a field":       {"author:王小明", "王小 小明 +author(王小,小明)"},
		"right to left":            {`"כתב יד" -שלום`, "כתב יד +any(כתב,יד) -any(שלום)"},
		"invalid bytes":            {"fox\xff -\xffred", "fox red"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := render(parse(test.text)); got != test.want {
				t.Errorf("%q is read as %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestOnlyAQueryOfStopWordsAloneIsMarkedSo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"the who": true, `"the who"`: true, "author:will": true, "the -fox": true, "the fox": false, `"the who" fox`: false,
		"": false, "-the": false, "?": false,
	} {
		if got := parse(text).Stops; got != want {
			t.Errorf("query %q is of stop words alone: %v, want %v", text, got, want)
		}
	}
}

func TestTheSequenceKeepsTheOrderOfTerms(t *testing.T) {
	t.Parallel()
	q := parse(`red "fox and red" author:sky -blue fox`)
	if want := []int{0, 1, 0, 2, 1}; !slices.Equal(q.Sequence, want) {
		t.Errorf("sequence %v of %+v, want %v", q.Sequence, q.Terms, want)
	}
}

func TestSpellingWordsHaveTheirOffsets(t *testing.T) {
	t.Parallel()
	const text = `“Café” retreival author:Knüth -excluded 自然 the ½ "vector spaec"`
	q := parse(text)
	want := []Word{
		{"Café", 1, 5, "cafe"},
		{"retreival", 7, 16, "retreiv"},
		{"Knüth", 24, 29, "knuth"},
		{"½", 47, 48, "1"},
		{"vector", 50, 56, "vector"},
		{"spaec", 57, 62, "spaec"},
	}
	if !reflect.DeepEqual(q.Words, want) {
		t.Errorf("words %+v, want %+v", q.Words, want)
	}
}

func TestTitleKeyIgnoresCaseAccentsAndPunctuation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query, title string
		want         bool
	}{
		{"attention is all you need", "Attention Is All You Need.", true},
		{"uber godel", "Über: Gödel", true},
		{"自然 言語", "自然言語", true},
		{"the who", "The Who", true},
		{"attention is all", "Attention Is All You Need", false},
		{"attention is all you need", "Attention Is All", false},
		{"need you all is attention", "Attention Is All You Need", false},
		{"indexing", "Index", false},
		{"in dex", "index", false},
		{"!", "?", false},
		{"word", "", false},
		{`"attention is all you need"`, "Attention Is All You Need", false},
		{"fox -hound", "fox hound", false},
		{"title:fox", "title fox", false},
	}
	for _, test := range tests {
		// In any pair of languages.
		for _, language := range []string{"en", "tr", "ru"} {
			key := TitleKey(analysis.New(language), test.title)
			if got := key != 0 && key == parse(test.query).TitleKey; got != test.want {
				t.Errorf("query %q is title %q: %v, want %v", test.query, test.title, got, test.want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", `fox "red fox" -author:"a b" title:x -y text:the`, "“a „b« c» ＂", `-"`, "author:", "-author:\"", "自然\"言語\" -自然",
		"\xff-\xffauthor:\xff", "the who",
		"doi:10.1145/361219.361220", "½ -½ \"½\"", "- - -a--b", "İ author:İSTANBUL",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := analysis.New("")
		q := Parse(a, text)
		checkTerms(t, q)
		checkWords(t, q, text)
		for _, c := range slices.Concat(q.Require, q.Exclude) {
			if n := len(c.Terms); n == 0 || c.Terms[0] == "" || c.Terms[n-1] == "" || c.Field > Text {
				t.Fatalf("clause %+v of %q", c, text)
			}
		}
		// A query without operators has the terms of its words.
		if !strings.ContainsAny(text, "-:") && !strings.ContainsFunc(text, func(r rune) bool { return quoteFamily(r) != 0 }) {
			if len(q.Require)+len(q.Exclude) > 0 || q.TitleKey != TitleKey(a, text) {
				t.Fatalf("plain %q is read as %+v", text, q)
			}
		}
	})
}

func checkTerms(t *testing.T, q Parsed) {
	seen := make(map[string]int)
	for _, place := range q.Sequence {
		seen[q.Terms[place].Text]++
	}
	for _, term := range q.Terms {
		if term.Text == "" || term.Text == analysis.StopMark || term.Count < 1 || seen[term.Text] != term.Count {
			t.Fatalf("term %+v, %d times in the sequence", term, seen[term.Text])
		}
		if q.Stops && !strings.HasPrefix(term.Text, analysis.StopMark) {
			t.Fatalf("term %+v is no stop word", term)
		}
	}
	if len(seen) != len(q.Terms) || q.Stops && len(q.Terms) == 0 {
		t.Fatalf("%d terms, of which %d are in the sequence", len(q.Terms), len(seen))
	}
}

func checkWords(t *testing.T, q Parsed, text string) {
	runes := []rune(text)
	end := 0
	for _, w := range q.Words {
		if w.Start < end || w.End <= w.Start || w.End > len(runes) || string(runes[w.Start:w.End]) != w.Text ||
			!utf8.ValidString(w.Text) {
			t.Fatalf("word %+v of %q", w, text)
		}
		if !slices.ContainsFunc(q.Terms, func(term Term) bool { return term.Text == w.Term }) {
			t.Fatalf("word %+v has no term", w)
		}
		end = w.End
	}
}

func ExampleParse() {
	q := Parse(analysis.New("en"), `sorting networks author:knuth -"bubble sort"`)
	fmt.Println(q.Terms)
	fmt.Println(q.Require, q.Exclude)
	// Output:
	// [{sort 1} {network 1} {knuth 1}]
	// [{2 [knuth]}] [{0 [bubbl sort]}]
}
