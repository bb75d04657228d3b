package research

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/thread"
)

// request is an action that the user asks for, with the words that name its object.
type request struct {
	Kind  thread.ActionKind `json:"kind"`
	Words string            `json:"words"`
}

// The patterns match whole sentences. Their last group names the object.
const favourites = `(?:my |the |meine[nr]? |den )?(?:list of )?(?:favou?rites?|favou?rite list|favorit(?:en)?|` +
	`bookmarks|lesezeichen)`

// favouritesFrench and favouritesSpanish are the names of the favourites in requests in these languages.
const (
	favouritesFrench  = `(?:mes |les |vos |tes )?(?:favoris?|signets|marque-pages)`
	favouritesSpanish = `(?:mis |los |sus |tus )?(?:favoritos?|marcadores)`
)

// polite matches the phrases before a request.
const polite = `^(?:(?:please|now|also|and|then|ok|okay|so|can you|could you|would you|will you|i want you to|` +
	`i would like you to|bitte|und|nun|jetzt|dann|kannst du|könntest du|können sie|könnten sie|` +
	`s(?:'|’)il (?:te|vous) plaît|maintenant|et|alors|por favor|ahora|y|entonces)(?:,? ))*[¡¿]?`

var requestPatterns = []struct {
	kind    thread.ActionKind
	pattern *lazyregexp.Regexp
}{
	{thread.ActionRemember, lazyregexp.New(`(?i)` + polite +
		`(?:remember|keep in mind|note|don(?:'|’)?t forget|do not forget|merk(?:e|en)? (?:dir|sie sich)|` +
		`denk(?:e)? daran|vergiss nicht)` +
		`(?:,? that|,? dass|:)\s*(?:: )?(.+)$`)},
	{thread.ActionRemember, lazyregexp.New(`(?i)` + polite + `(?:remember|keep in mind) ((?:i|my|i'm|i’m|we|` +
		`our) .+)$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite +
		`(?:forget|vergiss|vergessen sie)(?: (?:what|everything|all|anything) i (?:said|told you|mentioned|` +
		`wrote) about|` +
		`,? that|(?: everything| all)? about|,? dass|,? was ich (?:dir |ihnen )?(?:über|zu|von)|,? alles (?:über|` +
		`zu|von))\s+(.+?)(?: gesagt habe| geschrieben habe)?$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite + `(?:forget|vergiss) ((?:my|mein[e]?|i|ich) .+)$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite + `(?:delete|remove|lösche|entferne) (?:the|my|die|` +
		`meine) (?:memory|erinnerung|notiz|note)(?: that| about| dass| über)? (.+)$`)},
	{thread.ActionUnsave, lazyregexp.New(`(?i)` + polite +
		`(?:remove|delete|take|drop|entferne|lösche|nimm) (.+?) (?:from|out of|aus|von) ` + favourites + `$`)},
	{thread.ActionUnsave, lazyregexp.New(`(?i)` + polite + `(?:unstar|unsave|unfavou?rite|unbookmark) (.+)$`)},
	{thread.ActionSave, lazyregexp.New(`(?i)` + polite +
		`(?:save|add|put|keep|store|mark|speicher[en]?|leg[en]?|nimm|füg[en]?|merk[en]?) (.+?) (?:to|in|into|` +
		`among|as(?: a)?|zu|bei|unter|als|in) ` +
		favourites + `(?: hinzu| auf)?$`)},
	{thread.ActionSave, lazyregexp.New(`(?i)` + polite + `(?:star|bookmark|favou?rite) (.+)$`)},

	{thread.ActionRemember, lazyregexp.New(`(?i)` + polite +
		`(?:retiens|retenez|note|notez|souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|n(?:'|’)oublie(?:z)? pas)` +
		`(?:,? que |,? qu(?:'|’)| ?: ?)(.+)$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite +
		`oublie(?:z)?(?: tout)?(?: ce que (?:je t(?:'|’)ai|je vous ai|j(?:'|’)ai) dit)? ` +
		`(?:sur |à propos de |à propos d(?:'|’)|que |qu(?:'|’))(.+)$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite + `oublie(?:z)? ((?:mon|ma|mes) .+)$`)},
	{thread.ActionUnsave, lazyregexp.New(`(?i)` + polite +
		`(?:retire|supprime|enlève|enleve|efface)(?:z|s)? (.+?) (?:de|des|parmi) ` + favouritesFrench + `$`)},
	{thread.ActionSave, lazyregexp.New(`(?i)` + polite +
		`(?:enregistre|ajoute|sauvegarde|garde|mets|mette)(?:z|s)? (.+?) (?:dans|à|aux|parmi|en|comme) ` +
		favouritesFrench + `$`)},

	{thread.ActionRemember, lazyregexp.New(`(?i)` + polite +
		`(?:recuerd[ae]|ten(?:ga)? en cuenta|apunt[ae]|anot[ae]|no olvides?)(?:,? que |: ?)(.+)$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite +
		`olvid[ae](?: todo)?(?: lo que (?:te|le) (?:dije|he dicho))? (?:sobre|acerca de|que) (.+)$`)},
	{thread.ActionForget, lazyregexp.New(`(?i)` + polite + `olvid[ae] (mis? .+)$`)},
	{thread.ActionUnsave, lazyregexp.New(`(?i)` + polite +
		`(?:quit[ae]|elimin[ae]|borr[ae]|saca|saque) (.+?) (?:de|entre) ` + favouritesSpanish + `$`)},
	{thread.ActionSave, lazyregexp.New(`(?i)` + polite +
		`(?:guard[ae]|añad[ae]|agreg(?:a|ue)|pon|ponga) (.+?) (?:en|a|como|entre) ` + favouritesSpanish + `$`)},
}

// negation matches requests not to do something. "Don't forget that …" is a request to remember.
var negation = lazyregexp.New(`(?i)(?:^| )(?:don(?:'|’)?t|do not|never|nicht|kein(?:e|en)?|` +
	`ne|n(?:'|’)(?:oubli|enregistr|ajout|enlèv|effac)\pL*|jamais|` +
	`no (?:me )?(?:olvid|borr|elimin|quit|guard|añad)\pL*|nunca)(?: |$)`)

// requestIn returns the action that a sentence asks for. A question that is not a polite request asks for none.
func requestIn(sentence string) (request, bool) {
	s := strings.Join(strings.Fields(strings.TrimRight(sentence, ".!? ")), " ")
	s = politeEnd.ReplaceAllString(s, "")
	for _, p := range requestPatterns {
		m := p.pattern.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		words := strings.TrimSpace(m[len(m)-1])
		if p.kind != thread.ActionRemember && negation.MatchString(s) || pronounAlone.MatchString(words) && isMemory(p.kind) {
			return request{}, false
		}
		return request{p.kind, words}, true
	}
	return request{}, false
}

// politeEnd matches words that end a polite request.
var politeEnd = lazyregexp.New(`(?i),? (?:please|bitte|thanks|thank you|danke|s(?:'|’)il (?:te|vous) plaît|` +
	`merci|por favor|gracias)$`)

var pronounAlone = lazyregexp.New(`(?i)^(?:it|that|this|das|es|dies|ça|cela|ceci|eso|esto)$`)

func isMemory(k thread.ActionKind) bool {
	return k == thread.ActionRemember || k == thread.ActionForget
}

// requestsIn returns the actions that a message asks for, and the rest of the message. Pasted text asks for nothing.
func requestsIn(text string) (requests []request, rest string) {
	if !isOwnWords(text) {
		return nil, text
	}
	var others []string
	for _, s := range sentencesOf(text) {
		if r, ok := requestIn(s); ok && utf8.RuneCountInString(r.Words) <= longestMemory {
			requests = append(requests, r)
		} else {
			others = append(others, s)
		}
	}
	if len(requests) == 0 {
		return nil, text
	}
	return requests, strings.Join(others, " ")
}

// isOwnWords reports whether a message is short and without quotations, so that it consists of the user's own words.
func isOwnWords(text string) bool {
	return utf8.RuneCountInString(text) <= longestRequest && !strings.ContainsAny(text, "“”\"`>")
}

// verbs are words without which a message does not ask for an action, in the languages that models may understand. A
// model that follows an injected instruction cannot start an action from a message without them.
var verbs = map[thread.ActionKind][]string{
	thread.ActionRemember: {
		"remember", "keep in mind", "note", "forget", "merk", "denk dar", "behalt", "vergiss nicht", "retiens", "souviens",
		"recuerda", "ricorda", "onthoud", "lembr",
	},
	thread.ActionForget: {
		"forget", "delete", "remove", "vergiss", "vergessen", "lösch", "entfern", "oublie", "olvid", "dimentica", "vergeet",
		"esque",
	},
	thread.ActionSave: {
		"save", "favo", "star", "bookmark", "speicher", "merk", "lesezeichen", "enregistre", "guarda", "salva", "bewaar",
	},
	thread.ActionUnsave: {
		"unsave", "unstar", "remove", "delete", "take", "drop", "entfern", "lösch", "nimm", "retire", "supprime", "quita",
		"elimina", "rimuovi", "verwijder", "remov",
	},
}

// userAsksFor reports whether the user asked for an action of the model's plan: words of the message name its object,
// and the message has a verb for it.
func userAsksFor(r request, message string) bool {
	if !isOwnWords(message) || strings.TrimSpace(r.Words) == "" || utf8.RuneCountInString(r.Words) > longestMemory {
		return false
	}
	folded := core.Fold(message)
	if !strings.Contains(folded, core.Fold(r.Words)) || r.Kind != thread.ActionRemember && negation.MatchString(message) {
		return false
	}
	return slices.ContainsFunc(verbs[r.Kind], func(verb string) bool { return strings.Contains(folded, core.Fold(verb)) })
}

// ordinals are the words for positions in a list, from 1. The last position is -1.
var ordinals = map[string]int{
	"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
	"sixth": 6, "6th": 6, "seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "last": -1, "final": -1,
	"erste": 1, "ersten": 1, "erstes": 1, "zweite": 2, "zweiten": 2, "zweites": 2, "dritte": 3, "dritten": 3, "drittes": 3,
	"vierte": 4, "vierten": 4, "fünfte": 5, "fünften": 5, "letzte": -1, "letzten": -1, "letztes": -1,
	"premier": 1, "première": 1, "deuxième": 2, "seconde": 2, "troisième": 3, "quatrième": 4, "cinquième": 5,
	"dernier": -1, "dernière": -1,
	"primer": 1, "primero": 1, "primera": 1, "segundo": 2, "segunda": 2, "tercer": 3, "tercero": 3, "tercera": 3,
	"cuarto": 4, "cuarta": 4, "quinto": 5, "quinta": 5, "último": -1, "última": -1,
}

// cardinals are number words that choose from a list. "The two papers" names no position.
var cardinals = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "eins": 1, "zwei": 2, "drei": 3, "vier": 4,
	"deux": 2, "trois": 3, "quatre": 4, "uno": 1, "dos": 2, "tres": 3, "cuatro": 4,
}

var (
	markNumber  = lazyregexp.New(`\[(\d{1,3})\]`)
	namedNumber = lazyregexp.New(`(?i)(?:^| )(?:citation|quote|reference|source|number|no\.?|nr\.?|nummer|` +
		`zitat|quelle|paper|document|dokument|numéro|número|cita|fuente|documento) (\d{1,3})(?:$| )`)
	numberAlone = lazyregexp.New(`^(\d{1,2})\.?$`)
	everything  = lazyregexp.New(`(?i)(?:^| )(?:both|all|every|the two|the three|beide[ns]?|alle[ns]?|` +
		`die zwei|tous|toutes|les deux|todos|todas|ambos|los dos|las dos)(?: |$)`)
	noneOfThem = lazyregexp.New(`(?i)^(?:none(?: of (?:them|these))?|neither|no|cancel|` +
		`keine[ns]?(?: davon)?|nein|abbrechen|aucune?|non|annule[rz]?|ningun[oa]|cancelar?)$`)
	choiceFiller = lazyregexp.New(`(?i)^(?:the|number|no|one|please|bitte|die|der|das|nummer|i mean|ich meine|` +
		`of them|davon|and|und|,|forget|vergiss|le|la|el|numéro|número|et|y|s(?:'|’)il|te|vous|plaît|por|favor|` +
		`oublie|olvida| )+$`)
)

// position returns the position that words name, from 1, or -1 for the last; 0 if they name none.
func position(words string) int {
	if m := markNumber.FindStringSubmatch(words); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits only
		return n
	}
	if m := namedNumber.FindStringSubmatch(words); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	for word := range strings.FieldsSeq(foldSentence(words)) {
		if n := ordinals[word]; n != 0 {
			return n
		}
	}
	return 0
}

// chosen returns the positions of a list of n entries that a reply to "Which one?" names. ok is false if the message is
// no such reply.
func chosen(message string, n int) (at []int, ok bool) {
	s := foldSentence(message)
	if noneOfThem.MatchString(s) {
		return nil, true
	}
	if everything.MatchString(s) && len(strings.Fields(s)) <= 4 {
		for i := range n {
			at = append(at, i)
		}
		return at, true
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == ',' }) {
		number := cmp.Or(ordinals[word], cardinals[word])
		if m := numberAlone.FindStringSubmatch(word); m != nil {
			number, _ = strconv.Atoi(m[1])
		}
		switch {
		case number == -1:
			at = append(at, n-1)
		case number >= 1 && number <= n && (word != "one" || len(at) == 0): // "the second one"
			at = append(at, number-1)
		case number == 0 && !choiceFiller.MatchString(word):
			return nil, false
		}
	}
	slices.Sort(at)
	return slices.Compact(at), len(at) > 0
}
