package language

// Vocabulary holds the words of a language, in lower case, that indicate the kind of a question and of its answer.
// German has no Who and Where: all its nouns are capitalized, so that names cannot be told from other words.
type Vocabulary struct {
	// HowMany, When, Who, Where and Why are question phrases, separated by bars.
	HowMany, When, Who, Where, Why string
	// How and What are phrases at the beginning of a question for an explanation and for a definition.
	How, What string
	// Numbers, Dates and Causes are words of an answer to HowMany, When and Why.
	Numbers, Dates, Causes string
	// Units are the units of an answer to phrases of HowMany: "how old=year month|…". Other phrases need none.
	Units string
	// PlaceAfter are words that precede a place in an answer to Where.
	PlaceAfter string
	// Cues are words that at the beginning of a sentence introduce the reason or explanation of the sentence before.
	Cues string
	// Subjects are words that at the beginning of a sentence refer to the sentence before.
	Subjects string
	// Pronouns are words that in a question refer to an earlier question or answer.
	Pronouns string
	// Fillers are words of asking itself, which are ignored.
	Fillers string
	// Weak are words that an answer seldom repeats: who "invented" it, how it "works". They count less.
	Weak string
	// Else are words by which a question asks for more than the answer before. Except are words before things that are
	// not asked for.
	Else, Except string
	// Synonyms are groups of words, separated by bars, that may replace each other in an answer.
	Synonyms string
	// Works are nouns for documents, in the plural. Listing are words that after one of Works, or before it, ask for a
	// list of documents; ListAll are beginnings of a question that do. Library are phrases for all sources.
	Works, Listing, ListAll, Library string
	// Compare are the patterns of a comparison of two subjects, which replace 1 and 2.
	Compare string
}

// Unspaced are the question phrases of Chinese, Japanese and Korean. In a text without spaces they are found anywhere.
var Unspaced = Vocabulary{
	HowMany: "多少|几个|幾個|いくつ|いくら|何人|何個|몇|얼마",
	When:    "什么时候|什麼時候|何时|何時|哪一年|いつ|何年|언제",
	Who:     "谁|誰|哪里|哪裡|どこ|누구|어디",
	Why:     "为什么|為什麼|なぜ|どうして|왜",
}

// UnspacedFillers are the parts of a question without spaces that do not describe its subject. The analyser cannot tell
// them apart, so they are removed first. Longer ones come before their parts.
var UnspacedFillers = []string{
	"什么时候", "什麼時候", "是什么", "是什麼", "为什么", "為什麼", "哪一年", "多少", "什么", "什麼",
	"怎么", "怎麼", "如何", "哪里", "哪裡", "哪些", "哪个", "哪個", "谁", "誰", "吗", "嗎",
	"的", "了", "いつ", "どこ", "なぜ", "どうして", "いくつ", "について", "とは", "でしたか",
	"ましたか", "ますか", "ですか", "언제", "누구", "어디", "무엇", "입니까",
}
