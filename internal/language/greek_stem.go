package language

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
)

// greekEndings are the endings of inflected words, without accents and with σ for ς. Each group is a list of suffixes
// and a list of endings that can follow any of them; a dash is the empty suffix.
var greekEndings = []struct{ suffixes, endings string }{
	// Nouns and adjectives.
	{"-", `α ασ ε εα εασ εεσ εια ειασ ειεσ ειο ειου ειων εισ εσ εων εωσ η ην ησ ι ια ιασ ιε ιεσ ιο ιοι ιοσ ιου ιουσ ισ
		ιων ο οι ον οσ ου ουσ υ υσ ων μα ματα ματοσ ματων οτητα οτητασ οτητεσ οτητων`},
	{"ικ ισμ μεν ημεν ωμεν ισμεν", "α εσ η ην ησ ο οι ον οσ ου ουσ ων"},
	{"ησ ισ ωσ", "η ησ εισ εων εωσ"},
	// Verbs: active, middle and passive.
	{
		"- ησ ασ ισ ωσ ιζ ων ουσ θηκ ηθηκ ωθηκ ιστηκ θ ηθ ωθ ιστ",
		"ω εισ ει ειτε ουμε ετε ουν ουνε α εσ ε αμε ατε αν ανε",
	},
	{"- ιζ ων", "ομαι εσαι εται ομαστε εστε ονται ομουν οσουν οταν ομασταν οσασταν ονταν οντασ"},
	{"-", `αω αει ωντασ ιεμαι ιεσαι ιεται ιομαστε ιεστε ιουνται ουμαι εισαι ειται ουμαστε ειστε ουνται ουνταν`},
}

// greekShortest is the length of the shortest stem.
const greekShortest = 3

// greekSuffixes holds all endings; greekLongest is the length of the longest.
var greekSuffixes, greekLongest = func() (all map[string]bool, longest int) {
	all = make(map[string]bool)
	for _, group := range greekEndings {
		for suffix := range strings.FieldsSeq(group.suffixes) {
			for ending := range strings.FieldsSeq(group.endings) {
				whole := strings.TrimPrefix(suffix, "-") + ending
				all[whole] = true
				longest = max(longest, utf8.RuneCountInString(whole))
			}
		}
	}
	return all, longest
}()

// stemGreek removes the longest ending that leaves a stem of at least greekShortest letters. The word has no accents.
func stemGreek(env *snowballstem.Env) bool {
	word := env.Current()
	starts := make([]int, 0, len(word)) // of the letters, in bytes
	for at := range word {
		starts = append(starts, at)
	}
	for at := max(greekShortest, len(starts)-greekLongest); at < len(starts); at++ {
		stem, ending := word[:starts[at]], word[starts[at]:]
		// The nouns in -θήκη (library, store) look like a passive.
		if !greekSuffixes[ending] || strings.HasSuffix(stem, "ο") && strings.HasPrefix(ending, "θηκ") {
			continue
		}
		env.SetCurrent(stem)
		return true
	}
	return false
}
