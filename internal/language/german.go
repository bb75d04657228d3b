package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/german"
)

var germanLanguage = &Language{
	Code: "de", Name: "German", Script: unicode.Latin,
	Stem:             german.Stem,
	CapitalizesNouns: true,
	StopWords: `aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis da damit dann das dass
		dein dem den denn der deren des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine
		einem einen einer eines er es etwas für gegen gibt hat hatte hatten habe haben hier ich ihm ihn ihr ihre ihrem
		ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann können könnte man mehr mein mich mit muss nach
		nicht noch nun nur ob oder ohne sein seine seinem seinen seiner seit sehr sich sie sind so sollte sowie über um
		und uns unser unter vom von vor wann war waren warum was welche welchem welchen welcher welches wenn wer werden
		wie wieso will wir wird wo wurde wurden würde zu zum zur zwischen`,
	Letters: "äöüß",
	Abbreviations: &Abbreviations{
		Titles: englishTitles,
		Never: scholarlyNever + ` hr fr frl z.b z b d.h d u.a u bzw vgl sog bspw ggf evtl inkl exkl
			insb insbes einschl allg dipl ing geb gest lat engl franz griech dt m.e i.d.r s.o s.u`,
		Numbered: scholarlyNumbered + ` s abs abb kap nr jg jh h anm bd bde str tel jan feb febr apr jun jul aug sep
			sept okt nov dez`,
		Either: scholarlyEither + ` usw usf etc u.s.w n.chr v.chr chr mio mrd tsd`,
		Openers: `der die das ein eine einer eines einem einen dieser diese dieses er sie es wir ich ihr sein seine in
			im an am auf aus bei mit nach von vom vor zu zum zur für durch über unter um und aber oder doch denn wenn
			als ob weil da dann dort hier so auch nur noch nicht was wer wie wo warum obwohl während seit bis jedoch
			daher deshalb dennoch außerdem zudem ferner allerdings heute damit dabei dazu`,
		Ordinals: true,
	},
	Vocabulary: &Vocabulary{
		HowMany: `wie viele|wie viel|wieviel|wieviele|wie alt|wie lange|wie weit|wie hoch|wie gross|wie oft|wie
			tief|wie schnell`,
		When: `wann|in welchem jahr|welches jahr|seit wann`,
		Why:  `warum|wieso|weshalb|weswegen`,
		Numbers: `zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend million milliarde hälfte
			drittel prozent`,
		Dates: `januar februar märz april mai juni juli august september oktober november dezember jahrhundert
			jahrzehnt`,
		Causes:   `weil wegen deshalb daher grund ursache aufgrund führte`,
		Subjects: `er sie es dies diese dieser dieses sein seine ihr ihre`,
		Pronouns: `er ihn ihm sie ihr ihre ihren es sein seine seinen dies diese dieser dieses davon dafür damit`,
		Weak: `wichtig bedeutung bedeutet bekannt funktioniert erfand erfunden erfinder schrieb geschrieben autor
			autoren entdeckte entdeckt entwickelte entwickelt veröffentlicht beschrieben geschah`,
	},
	Phrases: &Phrases{
		Answered:   "Zitate aus deinen Quellen:",
		Closest:    "Die nächsten Stellen; vielleicht beantworten sie das nicht:",
		Lacking:    "Nicht in der besten Stelle: %s.",
		Unanswered: "Das Modell fand in den gelesenen Stellen keine Antwort.",
		Failed:     "Das Modell hat nicht geantwortet; dies sind Zitate aus deinen Quellen. (%s)",
		PartialCap: "Diese Antwort ist unvollständig, weil die Ausgabengrenze erreicht ist. Dies sind Zitate aus deinen " +
			"Quellen:",
		PartialTime: "Diese Antwort ist unvollständig, weil die Zeit nicht reichte. Dies sind Zitate aus deinen Quellen:",
		NoSources:   "Dieser Agent hat noch keine Quellen, es gibt also nichts, woraus er antworten könnte.",
		NoDocuments: "In %s sind noch keine Dokumente, es gibt also nichts, woraus zu antworten wäre.",
		Nothing:     "In %s passt nichts dazu.",
		NoSource:    "Keine Quelle enthält %s.",
		TooLittle:   "Keine Stelle deckt genug von der Frage ab; der besten fehlt %s.",
		Searched:    "Durchsucht: %s.",
		Incomplete:  "Nicht alles konnte durchsucht werden:",
		And:         "und",
		Or:          "oder",
		Source:      "Quelle",
		Sources:     "Quellen",
		Document:    "Dokument",
		Documents:   "Dokumente",
		Page:        "S.",
		Untitled:    "Ohne Titel",
		Partial:     "Diese Antwort ist unvollständig: %s.",
		RanOut:      "die Zeit reichte nicht",
		BrokeOff:    "die Antwort des Modells brach ab",
		TooLong:     "sie hat die maximale Länge erreicht",
		CapReached:  "die Ausgabengrenze ist erreicht",
		FailedEarly: "das Modell ist ausgefallen, bevor alles gelesen war",
		UsedUp:      "sie hat das Token-Limit erreicht",
	},
	FollowUp: "Was sagen die Quellen sonst über %s?",
}
