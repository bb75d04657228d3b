package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/german"
)

var germanLanguage = &Language{
	Code: "de", Name: "German", Script: unicode.Latin,
	Aliases:          "deu ger deutsch ngerman austrian naustrian nswissgerman swissgerman",
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
		How:      `wie funktioniert|wie geht|wie wird|wie werden|wie wurde`,
		What:     `was ist|was sind|was war|wer ist|wer war|erkläre|beschreibe`,
		Fillers:  `bitte mir mehr kannst sag sage sagen erzähl erzähle`,
		Cues:     `grund deshalb daher weil darum also somit`,
		Else:     `sonst noch weitere andere anderen`,
		Works:    `arbeiten dokumente artikel aufsätze bücher texte quellen veröffentlichungen werke`,
		Listing:  `über zu von aus vor nach seit zwischen handeln behandeln gibt sind wurden erwähnen`,
		ListAll:  `liste|zeige alle|nenne alle|alles über|alles zu`,
		Library:  `in der bibliothek|in den quellen|in deinen quellen|hast du`,
		Compare: `vergleiche 1 und 2|vergleiche 1 mit 2|unterschied zwischen 1 und 2|unterschiede zwischen 1 und 2|wie
			unterscheidet sich 1 von 2|wie unterscheiden sich 1 und 2|1 gegen 2|1 versus 2|1 vs 2`,
		Weak: `wichtig bedeutung bedeutet bekannt funktioniert erfand erfunden erfinder schrieb geschrieben autor
			autoren entdeckte entdeckt entwickelte entwickelt veröffentlicht beschrieben geschah`,
	},
	Phrases: &Phrases{
		Answered:   "Zitate aus deinen Quellen:",
		Listed:     "Passende Dokumente:",
		Closest:    "Die nächsten Stellen; vielleicht beantworten sie das nicht:",
		Lacking:    "Nicht in der besten Stelle: %s.",
		Unanswered: "Das Modell fand in den gelesenen Stellen keine Antwort.",
		Failed:     "Das Modell hat nicht geantwortet; dies sind Zitate aus deinen Quellen. (%s)",
		PartialCap: "Diese Antwort ist unvollständig, weil die Ausgabengrenze erreicht ist. Dies sind Zitate aus deinen " +
			"Quellen:",
		PartialTime:  "Diese Antwort ist unvollständig, weil die Zeit nicht reichte. Dies sind Zitate aus deinen Quellen:",
		NoSources:    "Dieser Agent hat noch keine Quellen, es gibt also nichts, woraus er antworten könnte.",
		NoDocuments:  "In %s sind noch keine Dokumente, es gibt also nichts, woraus zu antworten wäre.",
		Nothing:      "In %s passt nichts dazu.",
		NoSource:     "Keine Quelle enthält %s.",
		TooLittle:    "Keine Stelle deckt genug von der Frage ab; der besten fehlt %s.",
		Searched:     "Durchsucht: %s.",
		Incomplete:   "Nicht alles konnte durchsucht werden:",
		And:          "und",
		Or:           "oder",
		Source:       "Quelle",
		Sources:      "Quellen",
		Document:     "Dokument",
		Documents:    "Dokumente",
		Page:         "S.",
		Untitled:     "Ohne Titel",
		Partial:      "Diese Antwort ist unvollständig: %s.",
		RanOut:       "die Zeit reichte nicht",
		BrokeOff:     "die Antwort des Modells brach ab",
		TooLong:      "sie hat die maximale Länge erreicht",
		CapReached:   "die Ausgabengrenze ist erreicht",
		FailedEarly:  "das Modell ist ausgefallen, bevor alles gelesen war",
		UsedUp:       "sie hat das Token-Limit erreicht",
		WasCancelled: "sie wurde abgebrochen",
		NotFound:     "Was nicht gefunden wurde",
		Disagreement: "Worin sich die Quellen widersprechen",
		Unfinished:   "Was nicht fertig wurde",
		NoAnswers:    "Keine Quelle beantwortet diese Fragen:",
		QuotesOnly:   "Dieser Abschnitt wurde nicht geschrieben. Zitate aus deinen Quellen:",
		ByDocument:   "Zitate aus deinen Quellen, nach Dokument:",
	},
	Conversation: &Conversation{
		Greetings: `hallo|hi|hey|guten morgen|guten tag|guten abend|moin|servus|grüß gott|grüezi|tag|morgen`,
		Thanks:    `danke|danke schön|dankeschön|vielen dank|herzlichen dank|besten dank|merci vielmals`,
		Remarks: `ok|okay|gut|super|prima|toll|schön|verstanden|alles klar|schon gut|tschüss|tschüß|auf wiedersehen|bis
			bald|bis später|gute nacht|wie gehts|wie geht es dir|wie gehts dir|ach so|vergiss es|interessant|sehr gut`,
		Courtesies: `du|da|bist|zusammen|alle|wie|geht|es|dir|hallo|hi|sehr|viel|vielmals|schön|für|deine|die|der|das|
			hilfe|hilft|war|ist|hilfreich|gut|super|prima|toll|klasse|perfekt|ok|okay|antwort|antworten|mir|und|ja|
			tschüss|interessant`,
		Abilities: `was kannst du|was kannst du alles|was kannst du für mich tun|was kann ich fragen|was kann ich dich
			fragen|wer bist du|was bist du|hilfe|hilf mir|kannst du mir helfen|was machst du|wie funktionierst du|was ist
			das hier|was weißt du|wie heißt du|bist du ein roboter|bist du eine ki|bist du ein mensch|welche fragen kann
			ich stellen|welche quellen hast du|womit kannst du mir helfen|wie
			kannst du mir helfen|was können sie|was können sie alles|wer sind sie|können sie mir helfen|was kann ich sie
			fragen`,
		AboutUser: `weißt du über mich|weißt du von mir|wie heiße ich|was ist mein name|kennst du meinen namen|wer bin
			ich|wissen sie über mich|hast du dir über mich gemerkt|hast du dir gemerkt|an was erinnerst du
			dich|woran erinnerst du dich`,
		History: `habe ich gefragt|hab ich gefragt|habe ich dich gefragt|habe ich bisher gefragt|war meine erste frage|
			war meine letzte frage|waren meine fragen|meine bisherigen fragen|meine vorige frage|habe ich zuerst gefragt|habe
			ich als erstes gefragt|habe ich zuletzt gefragt|habe ich vorhin gefragt|habe ich eben gefragt|habe ich am
			anfang gefragt|habe ich sie gefragt|hast du zuletzt gesagt|hast du eben gesagt|worüber haben wir gesprochen|
			worüber haben wir geredet`,
		Polite: `bitte|kannst du|könntest du|würdest du|können sie|könnten sie|nun|jetzt|und|ok|okay|also|dann|mal|hallo`,
		Rewrites: `schreib|schreibe|formuliere|kürze|fasse|fass|vereinfache|übersetze|übersetz|mach|mache|erkläre|
			erklär|wiederhole|vergleiche|vergleich|stelle|stell|sag|sage|gib|erstelle|wandle|formulier|kürz`,
		Pronouns: `es|das|dies|sie|diese|beides|beide|die beiden|die zwei|das ganze|daraus|davon`,
		Joins: `in|auf|ins|als|zu|für|mit|ohne|noch|noch etwas|bitte|nochmal|ein|eine|einen|einem|etwas|kurz|knapp|und|
			aber`,
		Replies: `deine antwort|die antwort|deine letzte antwort|die letzte antwort|deine vorige antwort|das obige|
			letzte antwort|deine antworten|die antworten|deine beiden antworten|die beiden antworten|deine erste antwort|die
			erste antwort`,
		Forms: `kürzer|länger|einfacher|in einem satz|in zwei sätzen|in einfachen worten|in einfacher sprache|auf
			deutsch|auf englisch|auf französisch|auf spanisch|ins deutsche|ins englische|ins französische|als tabelle|
			eine tabelle|als liste|in stichpunkten|als mail|als e mail|ausführlicher|in anderen worten|mit anderen worten|
			nochmal|
			auf italienisch|auf niederländisch|um|zusammen|kurz zusammen|neu|anders`,
		Hello:        "Hallo. Ich beantworte Fragen mit Zitaten aus deinen Quellen.",
		Welcome:      "Gern geschehen.",
		Acknowledged: "In Ordnung. Frag mich, wann immer du möchtest.",
		Able: "Ich durchsuche deine Quellen und zitiere die Sätze, die deine Frage beantworten, jeweils mit ihrem " +
			"Dokument. Ich kann Dokumente auflisten („Welche Arbeiten handeln von …?“) und zwei Themen " +
			"nebeneinanderstellen („Vergleiche … und …“). Sag mir, was ich mir merken oder vergessen oder als Favorit " +
			"speichern soll. Es ist kein Sprachmodell eingerichtet, deshalb kann ich keine " +
			"Texte schreiben oder umschreiben.",
		YouCouldAsk:       "Du könntest fragen:",
		Remembered:        "Das weiß ich über dich:",
		NothingRemembered: "Ich weiß nichts über dich.",
		Asked:             "Du hast gefragt:",
		NothingAsked:      "Du hast in diesem Chat noch nichts anderes gefragt.",
		NoRewriting: "Umschreiben geht nur mit einem Sprachmodell, und es ist keines eingerichtet. Ich kann deine Quellen " +
			"nur wörtlich zitieren.",
		WhatIs:    "Was ist %s?",
		SaysAbout: "Was kannst du mir über %s sagen?",
	},
	FollowUp: "Was kannst du mir sonst über %s sagen?",
}
