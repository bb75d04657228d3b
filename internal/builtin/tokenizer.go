package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Entries of the vocabulary with a meaning of their own.
const (
	tokenUnknown = 100
	tokenFirst   = 101 // [CLS]
	tokenEnd     = 102 // [SEP]
)

// maxWord is the number of characters above which a word is unknown as a whole.
const maxWord = 100

// tokenizer splits text as BERT's uncased models do: lower case, without accents, at white space and around punctuation
// and ideographs; words are cut into the longest entries of the vocabulary from the left. Two details differ from the
// original: control characters separate words, and text never gives a special token.
type tokenizer struct {
	vocabulary *vocabulary
	// single holds the token of each ASCII punctuation character.
	single [utf8.RuneSelf]uint16
}

func newTokenizer(w *weights) (*tokenizer, error) {
	text := w.text("vocab", -1)
	if w.err != nil {
		return nil, w.err
	}
	v, err := newVocabulary(text)
	if err != nil {
		return nil, err
	}
	t := &tokenizer{vocabulary: v}
	for c := range t.single {
		if asciiClasses[c] == asciiPunctuation {
			t.single[c] = t.appendWord(nil, []byte{byte(c)})[0]
		}
	}
	return t, nil
}

type asciiClass uint8

const (
	asciiSpace asciiClass = iota // white space and control characters
	asciiPunctuation
	asciiLetter // letters and digits
)

var asciiClasses = func() (classes [utf8.RuneSelf]asciiClass) {
	for c := range classes {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			classes[c] = asciiLetter
		case ' ' < c && c < 0x7f:
			classes[c] = asciiPunctuation
		}
	}
	return classes
}()

// append appends the tokens of text to ids. Known may be nil.
func (t *tokenizer) append(ids []uint16, text string, known *knownWords) []uint16 {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf && asciiClasses[c] != asciiLetter {
			if asciiClasses[c] == asciiPunctuation {
				ids = append(ids, t.single[c])
			}
			i++
			continue
		}
		key, n := wordAt(text[i:])
		word := text[i : i+n]
		switch {
		case i+n < len(text) && text[i+n] >= utf8.RuneSelf:
			word = text[i : i+chunkLength(text[i:])]
			ids = t.appendUnicode(ids, word)
		case n > maxWord:
			ids = append(ids, tokenUnknown)
		case known == nil || n > knownLength:
			ids = t.appendASCII(ids, word)
		default:
			ids = known.append(t, ids, key, word)
		}
		i += len(word)
	}
	return ids
}

// wordAt returns the length of the word of ASCII letters and digits that text starts with, and its first bytes in lower
// case.
func wordAt(text string) (key wordKey, n int) {
	for shift := 0; shift < 64; shift += 8 {
		if n == len(text) || lowerLetters[text[n]] == 0 {
			return key, n
		}
		key[0] |= uint64(lowerLetters[text[n]]) << shift
		n++
	}
	for shift := 0; shift < 64; shift += 8 {
		if n == len(text) || lowerLetters[text[n]] == 0 {
			return key, n
		}
		key[1] |= uint64(lowerLetters[text[n]]) << shift
		n++
	}
	for n < len(text) && lowerLetters[text[n]] != 0 {
		n++
	}
	return key, n
}

// lowerLetters holds the lower case of ASCII letters and digits, and 0 for other bytes.
var lowerLetters = func() (lower [256]byte) {
	for c, class := range asciiClasses {
		if class == asciiLetter {
			lower[c] = byte(unicode.ToLower(rune(c)))
		}
	}
	return lower
}()

// appendASCII appends the tokens of a word of ASCII letters and digits.
func (t *tokenizer) appendASCII(ids []uint16, word string) []uint16 {
	var lower [maxWord]byte
	for i := range len(word) {
		lower[i] = lowerLetters[word[i]]
	}
	return t.appendWord(ids, lower[:len(word)])
}

const (
	knownBits   = 13
	knownLength = 16 // longest word in bytes
	knownTokens = 3  // most tokens of a word
)

// wordKey holds the bytes of a word of at most knownLength, the first byte lowest.
type wordKey [2]uint64

// knownWords keeps the tokens of words met last. The vocabulary is larger than the first caches of a processor, the
// most frequent words are not.
type knownWords [1 << knownBits]knownWord

// knownWord is a word of ASCII letters and digits. Free entries have the key of no word.
type knownWord struct {
	key    wordKey
	tokens [knownTokens]uint16
	n      uint16
}

// append appends the tokens of a word.
func (k *knownWords) append(t *tokenizer, ids []uint16, key wordKey, word string) []uint16 {
	entry := &k[(key[0]*0x9e3779b97f4a7c15^key[1]*0xc2b2ae3d27d4eb4f)>>(64-knownBits)]
	if entry.key == key {
		if entry.n == 1 {
			return append(ids, entry.tokens[0])
		}
		return append(ids, entry.tokens[:entry.n]...)
	}
	before := len(ids)
	ids = t.appendASCII(ids, word)
	if tokens := ids[before:]; len(tokens) <= knownTokens {
		entry.key, entry.n = key, uint16(len(tokens))
		copy(entry.tokens[:], tokens)
	}
	return ids
}

// chunkLength returns the number of bytes before the next ASCII character that separates words.
func chunkLength(text string) int {
	for i := range len(text) {
		if c := text[i]; c < utf8.RuneSelf && asciiClasses[c] != asciiLetter {
			return i
		}
	}
	return len(text)
}

// appendUnicode appends the tokens of a text with any characters.
func (t *tokenizer) appendUnicode(ids []uint16, text string) []uint16 {
	text = norm.NFD.String(strings.Map(unicode.ToLower, text))
	word := make([]byte, 0, 64)
	flush := func() {
		if len(word) > 0 {
			ids = t.appendWord(ids, word)
			word = word[:0]
		}
	}
	for _, r := range text {
		switch classify(r) {
		case runeDropped:
		case runeSpace:
			flush()
		case runeAlone:
			flush()
			word = utf8.AppendRune(word, r)
			flush()
		case runeLetter:
			word = utf8.AppendRune(word, r)
		}
	}
	flush()
	return ids
}

type runeClass uint8

const (
	runeLetter  runeClass = iota
	runeDropped           // accents and invisible format characters, such as soft hyphens
	runeSpace
	runeAlone // punctuation and ideographs are words of their own
)

func classify(r rune) runeClass {
	if r < utf8.RuneSelf {
		return [...]runeClass{runeSpace, runeAlone, runeLetter}[asciiClasses[r]]
	}
	switch {
	case unicode.IsSpace(r), unicode.IsControl(r), r == utf8.RuneError:
		return runeSpace
	case unicode.In(r, unicode.Mn, unicode.Cf):
		return runeDropped
	case unicode.IsPunct(r), isIdeograph(r):
		return runeAlone
	}
	return runeLetter
}

// isIdeograph reports whether BERT treats a character as a CJK ideograph.
func isIdeograph(r rune) bool {
	switch {
	case 0x4E00 <= r && r <= 0x9FFF, 0x3400 <= r && r <= 0x4DBF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x2A6DF, 0x2A700 <= r && r <= 0x2CEAF, 0x2F800 <= r && r <= 0x2FA1F:
		return true
	}
	return false
}

// appendWord appends the tokens of a normalised word, or one unknown token if any part of it is unknown.
func (t *tokenizer) appendWord(ids []uint16, word []byte) []uint16 {
	if len(word) > maxWord && utf8.RuneCount(word) > maxWord {
		return append(ids, tokenUnknown)
	}
	before, seed := len(ids), uint32(wordSeed)
	for len(word) > 0 {
		id, n := t.vocabulary.longestPrefix(word, seed)
		if n == 0 {
			return append(ids[:before], tokenUnknown)
		}
		ids = append(ids, id)
		word, seed = word[n:], continueSeed
	}
	return ids
}
