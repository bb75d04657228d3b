package quote

import (
	"strings"

	"carrel/internal/search/analysis"
)

// asking is how questions for one kind of answer are put.
type asking struct {
	kind    kind
	phrases []string
}

// vocabulary holds what the words of a language say about questions and answers.
type vocabulary struct {
	analyser  *analysis.Analyser
	questions []asking
	kinds     map[string]kind // terms that are things of a kind
	// Words that stand for something named before: at the start of a sentence, and in a question.
	openers, pronouns map[string]bool
	idle              map[string]bool // words of asking itself, as terms
	slight            map[string]bool // terms that say how something is asked about, more than what
}

// wording is the vocabulary of a language as it is written, in small letters.
type wording struct {
	howMany, when, who, where, why string // phrases without accents, parted by bars
	numbers, dates, causes         string
	openers, pronouns, idle        string
	// slight are words that a source seldom has where it answers: who "invented" it, how it "works".
	slight string
}

func newVocabulary(a *analysis.Analyser) *vocabulary {
	w := wordings[a.Language()]
	v := &vocabulary{analyser: a, openers: wordSet(w.openers), pronouns: wordSet(w.pronouns)}
	for _, q := range []struct {
		kind    kind
		phrases string
	}{{number, w.howMany}, {date, w.when}, {name, w.who}, {name, w.where}, {cause, w.why}} {
		if q.phrases != "" {
			phrases := strings.Split(strings.Join(strings.Fields(q.phrases), " "), "|")
			v.questions = append(v.questions, asking{q.kind, phrases})
		}
	}
	v.idle = make(map[string]bool)
	for token := range a.Tokens(w.idle + " " + w.pronouns) {
		v.idle[token.Term] = true
	}
	v.slight = make(map[string]bool)
	for token := range a.Tokens(w.slight) {
		v.slight[token.Term] = true
	}
	v.kinds = make(map[string]kind)
	for kind, words := range map[kind]string{number: w.numbers, date: w.dates, cause: w.causes} {
		for token := range a.Tokens(words) {
			v.kinds[token.Term] = kind
		}
	}
	return v
}

// unspacedQuestions are asked in scripts without spaces, where a question word is found anywhere.
var unspacedQuestions = []asking{
	{number, []string{"多少", "几个", "幾個", "いくつ", "いくら", "何人", "何個", "몇", "얼마"}},
	{date, []string{"什么时候", "什麼時候", "何时", "何時", "哪一年", "いつ", "何年", "언제"}},
	{name, []string{"谁", "誰", "哪里", "哪裡", "どこ", "누구", "어디"}},
	{cause, []string{"为什么", "為什麼", "なぜ", "どうして", "왜"}},
}

// unspacedFrame takes out what a question is put in, in scripts without spaces: there the analyser cannot tell it from
// what is asked about. Longer ones come first.
var unspacedFrame = strings.NewReplacer(
	"什么时候", " ", "什麼時候", " ", "是什么", " ", "是什麼", " ", "为什么", " ", "為什麼", " ", "哪一年", " ", "多少", " ", "什么", " ", "什麼", " ",
	"怎么", " ", "怎麼", " ", "如何", " ", "哪里", " ", "哪裡", " ", "哪些", " ", "哪个", " ", "哪個", " ", "谁", " ", "誰", " ", "吗", " ", "嗎", " ",
	"的", " ", "了", " ", "いつ", " ", "どこ", " ", "なぜ", " ", "どうして", " ", "いくつ", " ", "について", " ", "とは", " ", "でしたか", " ",
	"ましたか", " ", "ますか", " ", "ですか", " ", "언제", " ", "누구", " ", "어디", " ", "무엇", " ", "입니까", " ",
)

// wordings are those of the languages that a wording is known of. In others, questions are answered without regard to
// their kind. German has no names to look for: all its nouns have capitals.
var wordings = map[string]wording{
	"en": {
		howMany: `how many|how much|how old|how long|how far|how tall|how high|how deep|how large|how big|how often|how fast|what
			percentage|what percent|what number|what share|what fraction|what proportion|what age`,
		when:  `when|what year|which year|what century|which century|what decade|what date|what day|what month`,
		who:   `who|whom|whose`,
		where: `where`,
		why:   `why|what caused|what is the reason|what was the reason`,
		numbers: `one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million
			billion trillion half third quarter dozen double twice percent`,
		dates: `january february march april june july august september october november december century decade spring summer
			autumn winter monday tuesday wednesday thursday friday saturday sunday`,
		causes:   `because cause due reason since result therefore order led`,
		openers:  `he she it they this these those that such his her its their him them`,
		pronouns: `he him his she her hers it its they them their theirs this these those`,
		idle:     `else please tell more again explain describe`,
		slight: `important importance significant significance matter famous known work works working mean meaning use used invent
			invented inventor write wrote written author authors create created creator discover discovered develop developed
			introduce introduced propose proposed publish published describe described idea purpose happen happened`,
	},
	"de": {
		howMany:  `wie viele|wie viel|wieviel|wieviele|wie alt|wie lange|wie weit|wie hoch|wie gross|wie oft|wie tief|wie schnell`,
		when:     `wann|in welchem jahr|welches jahr|seit wann`,
		why:      `warum|wieso|weshalb|weswegen`,
		numbers:  `zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend million milliarde hälfte drittel prozent`,
		dates:    `januar februar märz april mai juni juli august september oktober november dezember jahrhundert jahrzehnt`,
		causes:   `weil wegen deshalb daher grund ursache aufgrund führte`,
		openers:  `er sie es dies diese dieser dieses sein seine ihr ihre`,
		pronouns: `er ihn ihm sie ihr ihre ihren es sein seine seinen dies diese dieser dieses davon dafür damit`,
		slight: `wichtig bedeutung bedeutet bekannt funktioniert erfand erfunden erfinder schrieb geschrieben autor autoren entdeckte entdeckt
			entwickelte entwickelt veröffentlicht beschrieben geschah`,
	},
	"fr": {
		howMany:  `combien|quel age|quelle part|quel pourcentage|quelle distance`,
		when:     `quand|quelle annee|en quelle annee|quelle date`,
		who:      `qui`,
		where:    `ou est|ou sont|ou se|d ou`,
		why:      `pourquoi`,
		numbers:  `deux trois quatre cinq six sept huit neuf dix onze douze cent mille million milliard moitié tiers pourcent`,
		dates:    `janvier février mars avril mai juin juillet août septembre octobre novembre décembre siècle décennie`,
		causes:   `parce cause raison grâce puisque afin donc`,
		openers:  `il elle ils elles ce cet cette ces cela celui celle son sa ses leur leurs`,
		pronouns: `il elle ils elles lui leur leurs son sa ses ce cet cette ces cela y en`,
		slight: `important importance signifie connu fonctionne inventa inventé inventeur écrivit écrit auteur auteurs découvrit découvert
			développé publié décrit`,
	},
	"es": {
		howMany:  `cuantos|cuantas|cuanto|cuanta|que porcentaje|que edad`,
		when:     `cuando|que ano|que fecha|que siglo`,
		who:      `quien|quienes`,
		where:    `donde|adonde`,
		why:      `por que`,
		numbers:  `dos tres cuatro cinco seis siete ocho nueve diez once doce cien mil millón mitad tercio ciento`,
		dates:    `enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre siglo década`,
		causes:   `porque causa razón debido motivo`,
		openers:  `él ella ellos ellas este esta estos estas esto ese esa su sus`,
		pronouns: `ella ellos ellas su sus este esta estos estas esto ese esa eso lo le les`,
		slight: `importante importancia significa conocido funciona inventó inventado inventor escribió escrito autor autores descubrió descubierto
			desarrolló desarrollado publicado describió`,
	},
	"it": {
		howMany:  `quanti|quante|quanto|quanta|che percentuale`,
		when:     `quando|che anno|quale anno|in che secolo`,
		who:      `chi`,
		where:    `dove|dov`,
		why:      `perche`,
		numbers:  `due tre quattro cinque sei sette otto nove dieci undici dodici cento mille milione miliardo metà terzo`,
		dates:    `gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre secolo decennio`,
		causes:   `perché causa motivo ragione grazie`,
		openers:  `egli lui lei essa esso essi loro questo questa questi queste ciò suo sua suoi sue`,
		pronouns: `egli lui lei essa esso essi loro questo questa questi queste ciò suo sua suoi sue`,
	},
	"pt": {
		howMany:  `quantos|quantas|quanto|quanta|que percentagem|que porcentagem`,
		when:     `quando|que ano|em que ano|que seculo`,
		who:      `quem`,
		where:    `onde|aonde`,
		why:      `por que|porque`,
		numbers:  `dois duas três quatro cinco seis sete oito nove dez onze doze cem mil milhão metade terço`,
		dates:    `janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro século década`,
		causes:   `porque causa razão devido motivo`,
		openers:  `ele ela eles elas este esta estes estas isto esse essa isso seu sua seus suas`,
		pronouns: `ele ela eles elas seu sua seus suas este esta isto esse essa isso dele dela`,
	},
	"nl": {
		howMany:  `hoeveel|hoe oud|hoe lang|hoe ver|hoe hoog|hoe groot|hoe vaak`,
		when:     `wanneer|welk jaar|in welk jaar|welke eeuw`,
		who:      `wie`,
		where:    `waar`,
		why:      `waarom`,
		numbers:  `twee drie vier vijf zes zeven acht negen tien elf twaalf honderd duizend miljoen miljard helft derde procent`,
		dates:    `januari februari maart april mei juni juli augustus september oktober november december eeuw decennium`,
		causes:   `omdat door wegens reden oorzaak daarom`,
		openers:  `hij zij ze het dit dat deze die zijn haar hun`,
		pronouns: `hij hem zijn zij ze haar hun hen dit deze ervan daarvan`,
	},
	"ru": {
		howMany:  `сколько|как долго|какой процент`,
		when:     `когда|в каком году`,
		who:      `кто|кого|кому|кем`,
		where:    `где|куда|откуда`,
		why:      `почему|зачем`,
		numbers:  `два две три четыре пять шесть семь восемь девять десять сто тысяча миллион миллиард половина треть процент`,
		dates:    `январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь век год`,
		causes:   `потому причина вследствие благодаря`,
		openers:  `он она оно они это этот эта эти его её ее их`,
		pronouns: `он она оно они его её ее их ему ей им это этот эта эти`,
	},
}
