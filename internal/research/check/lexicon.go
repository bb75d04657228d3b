package check

import (
	"slices"
	"strings"
	"sync"

	"carrel/internal/search/analysis"
)

// role is a set of meanings of a word that the rules compare.
type role uint32

const (
	negates    role = 1 << iota // not, without, fail
	quantifies                  // all, most, some, only
	modal                       // may, should, must, will
	doubts                      // probably, suggest, appear: the source is not certain
	attributes                  // said, according: somebody else says so
	conditions                  // if, unless, except
	because                     // the effect stands before the cause
	therefore                   // the cause stands before the effect
	associates                  // associated, linked, correlated
	relates                     // a preposition
	beVerb                      // was, been
	agent                       // by, which names the agent of a passive
	refers                      // a pronoun
	joins                       // and, but, while
	either                      // or
	light                       // a word that adds nothing: known, located, called
	compares                    // than
	lexical                     // has a meaning of its own besides its role: lack, caused
)

// entry is the entry of a word in the lexicon.
type entry struct {
	role    role
	class   class
	neutral bool // a function word, which needs no counterpart
}

// class distinguishes words of the same role.
type class uint8

const (
	noClass class = iota
	quantAll
	quantMost
	quantMany
	quantSome
	quantFew
	quantNone
	quantOnly
	modalPossible
	modalAdvised
	modalRequired
	modalFuture
)

// wordLists are the words of a language. Lists are separated by white space, groups by bars.
type wordLists struct {
	neutral, light, negations                    string
	lacks                                        string // verbs and nouns of negative meaning
	all, most, many, some, few, none, only       string
	possible, advised, required, future          string
	doubts, attributes, conditions               string
	because, therefore, associates               string
	prepositions, be, agent, pronouns, joins, or string
	than                                         string
	antonyms                                     string // pairs "a/b" of words
	exclusive                                    string // groups of words of which only one can hold
	synonyms                                     string // groups of words
	numbers, scales, fractions, ordinals         string // "word=value"
	bounds                                       string // "phrase=bound", by bar
	participles                                  string
	proportion                                   string
	negative                                     string // prefixes that negate a word
	talk, instructions, objects, meta, remarks   string
	demonyms                                     string // groups of words for one country
	generic                                      string // nouns that are part of many names
}

// lexicon is the compiled form of word lists. The zero value knows no words.
type lexicon struct {
	known       bool
	entries     map[string]entry
	antonyms    map[string][]string // by term
	groups      map[string]int      // synonyms by term
	sets        map[string]int      // exclusive words by term
	numbers     map[string]float64
	scales      map[string]float64
	fractions   map[string]float64
	ordinals    map[string]float64
	bounds      map[string]bound
	participles map[string]bool
	proportions map[string]bool
	countries   map[string]int
	negative    []string
	generic     map[string]bool
	talk        []string
	orders      map[string]bool // verbs of command
	objects     map[string]bool // words that begin the object of a command
	remarks     []string        // phrases about the sources, anywhere in a sentence
	meta        []string
}

// lexicons are the compiled lexicons by language.
var lexicons = map[string]func() *lexicon{
	"en": sync.OnceValue(func() *lexicon { return compile("en", english) }),
	"de": sync.OnceValue(func() *lexicon { return compile("de", german) }),
}

// noWords is the lexicon of languages without word lists. It knows the words that multiply a number.
var noWords = &lexicon{scales: values(`
	million=1e6 millions=1e6 milliard=1e9 milliards=1e9 mille=1e3 millón=1e6 millones=1e6
	millon=1e6 mil=1e3 milhão=1e6 milhões=1e6 bilhão=1e9 bilhões=1e9 mila=1e3 milione=1e6 milioni=1e6 miliardo=1e9
	miliardi=1e9 duizend=1e3 miljoen=1e6 miljard=1e9 tusen=1e3 tusind=1e3 miljon=1e6 miljoner=1e6 millioner=1e6
	miljarder=1e9 milliarder=1e9 tuhat=1e3 miljoona=1e6 miljoonaa=1e6 miljardia=1e9 ezer=1e3 millió=1e6 milliárd=1e9
	bin=1e3 milyon=1e6 milyar=1e9 mie=1e3 mii=1e3 milion=1e6 milioane=1e6 miliarde=1e9 тысяч=1e3 тысячи=1e3
	миллион=1e6 миллиона=1e6 миллионов=1e6 млн=1e6 миллиард=1e9 миллиарда=1e9 миллиардов=1e9 млрд=1e9`)}

func lexiconOf(code string) *lexicon {
	if get := lexicons[code]; get != nil {
		return get()
	}
	return noWords
}

// compile turns word lists into a lexicon.
func compile(code string, lists wordLists) *lexicon {
	c := compiler{analyser: analysis.New(code), lexicon: &lexicon{known: true, entries: make(map[string]entry)}}
	for _, list := range []struct {
		words string
		role  role
		class class
	}{
		{lists.light, light, 0},
		{lists.negations, negates, 0},
		{lists.lacks, negates | lexical, 0},
		{lists.all, quantifies, quantAll},
		{lists.most, quantifies, quantMost},
		{lists.many, quantifies, quantMany},
		{lists.some, quantifies, quantSome},
		{lists.few, quantifies, quantFew},
		{lists.none, quantifies | negates, quantNone},
		{lists.only, quantifies, quantOnly},
		{lists.possible, modal, modalPossible},
		{lists.advised, modal, modalAdvised},
		{lists.required, modal, modalRequired},
		{lists.future, modal, modalFuture},
		{lists.doubts, doubts | lexical, 0},
		{lists.attributes, attributes | lexical, 0},
		{lists.conditions, conditions | lexical, 0},
		{lists.because, because | lexical, 0},
		{lists.therefore, therefore | lexical, 0},
		{lists.associates, associates | lexical, 0},
		{lists.prepositions, relates, 0},
		{lists.be, beVerb, 0},
		{lists.agent, agent, 0},
		{lists.pronouns, refers, 0},
		{lists.joins, joins, 0},
		{lists.or, either, 0},
		{lists.than, compares, 0},
	} {
		for w := range strings.FieldsSeq(list.words) {
			e := c.lexicon.entries[w]
			e.role |= list.role
			e.class = max(e.class, list.class)
			c.lexicon.entries[w] = e
		}
	}
	for _, words := range []string{lists.neutral, lists.prepositions, lists.be, lists.agent, lists.pronouns, lists.joins} {
		for w := range strings.FieldsSeq(words) {
			e := c.lexicon.entries[w]
			e.neutral = true
			c.lexicon.entries[w] = e
		}
	}
	c.pairs(lists.antonyms)
	c.lexicon.groups = c.group(lists.synonyms, false)
	c.lexicon.sets = c.group(lists.exclusive, false)
	c.lexicon.countries = c.group(lists.demonyms, true)
	c.lexicon.numbers = values(lists.numbers)
	c.lexicon.scales = values(lists.scales)
	c.lexicon.fractions = values(lists.fractions)
	c.lexicon.ordinals = values(lists.ordinals)
	c.lexicon.bounds = bounds(lists.bounds)
	c.lexicon.participles = set(lists.participles)
	c.lexicon.proportions = set(lists.proportion)
	c.lexicon.negative = strings.Fields(lists.negative)
	c.lexicon.generic = set(lists.generic)
	c.lexicon.talk = phrases(lists.talk)
	c.lexicon.orders = set(lists.instructions)
	c.lexicon.objects = set(lists.objects)
	c.lexicon.remarks = phrases(lists.remarks)
	c.lexicon.meta = phrases(lists.meta)
	if code == "de" {
		germanNumbers(c.lexicon)
	}
	return c.lexicon
}

type compiler struct {
	analyser *analysis.Analyser
	lexicon  *lexicon
}

// term returns the stem of a word.
func (c *compiler) term(w string) string {
	for t := range c.analyser.Tokens(w) {
		return t.Term
	}
	return w
}

// pairs adds antonyms. A side may list several words: "rise,grow/fall,decline".
func (c *compiler) pairs(text string) {
	c.lexicon.antonyms = make(map[string][]string)
	for pair := range strings.FieldsSeq(text) {
		left, right, _ := strings.Cut(pair, "/")
		for a := range strings.SplitSeq(left, ",") {
			for b := range strings.SplitSeq(right, ",") {
				c.opposes(c.term(a), c.term(b))
				c.opposes(c.term(b), c.term(a))
			}
		}
	}
}

func (c *compiler) opposes(a, b string) {
	if a != b && !slices.Contains(c.lexicon.antonyms[a], b) {
		c.lexicon.antonyms[a] = append(c.lexicon.antonyms[a], b)
	}
}

// group numbers groups of words.
func (c *compiler) group(text string, folded bool) map[string]int {
	out := make(map[string]int)
	number := 0
	for line := range strings.SplitSeq(text, "|") {
		number++
		for w := range strings.FieldsSeq(line) {
			if !folded {
				w = c.term(w)
			}
			if _, taken := out[w]; !taken {
				out[w] = number
			}
		}
	}
	return out
}

// phrases returns the phrases of a list separated by bars.
func phrases(text string) []string {
	var out []string
	for p := range strings.SplitSeq(text, "|") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func set(text string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		out[w] = true
	}
	return out
}

// bounds reads a list of phrases with their bounds.
func bounds(text string) map[string]bound {
	codes := map[string]bound{
		"~": about, ">": above, ">=": atLeast, "<": below, "<=": atMost, "-": nearly, "=": exactly,
	}
	out := make(map[string]bound)
	for _, p := range phrases(text) {
		at := strings.LastIndex(p, " ")
		out[p[:at]] = codes[p[at+1:]]
	}
	return out
}

func (l *lexicon) entry(fold string) entry         { return l.entries[fold] }
func (l *lexicon) scale(fold string) float64       { return l.scales[fold] }
func (l *lexicon) fraction(fold string) float64    { return l.fractions[fold] }
func (l *lexicon) proportion(fold string) bool     { return l.proportions[fold] }
func (l *lexicon) trailing(p string) (bound, bool) { b, ok := l.bounds["… "+p]; return b, ok }

// bound returns the bound that the words name.
func (l *lexicon) bound(words []token) (bound, bool) {
	if len(words) == 1 {
		b, ok := l.bounds[words[0].fold]
		return b, ok
	}
	var p strings.Builder
	for i := range words {
		if i > 0 {
			p.WriteByte(' ')
		}
		p.WriteString(words[i].fold)
	}
	b, ok := l.bounds[p.String()]
	return b, ok
}

// opposes reports whether two words of the language are opposites: by the list of antonyms, by the sets of which only
// one word can hold, or by a negative prefix.
func (l *lexicon) opposes(a, b *token) bool {
	if slices.Contains(l.antonyms[a.term], b.term) {
		return true
	}
	if s := l.sets[a.term]; s > 0 && s == l.sets[b.term] && a.term != b.term {
		return true
	}
	return l.negated(a.fold, b.fold) || l.negated(b.fold, a.fold)
}

// negated reports whether a word is another one with a negative prefix: insensitive, uncrowded.
func (l *lexicon) negated(w, positive string) bool {
	const least = 5 // letters
	if len(positive) < least {
		return false
	}
	for _, prefix := range l.negative {
		if len(w) == len(prefix)+len(positive) && strings.HasPrefix(w, prefix) && strings.HasSuffix(w, positive) {
			return true
		}
	}
	return false
}
