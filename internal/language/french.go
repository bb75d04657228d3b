package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/french"
)

var frenchLanguage = &Language{
	Code: "fr", Name: "French", Script: unicode.Latin,
	Aliases: "fra fre français francais frenchb acadian canadien",
	Stem:    french.Stem,
	StopWords: `a à afin ai ainsi après as au aucun aussi autre autres aux avait avant avec avoir c car ce ceci cela
		celle celui ces cet cette ceux chaque chez comme comment contre d dans de depuis des donc dont du elle elles en
		encore entre est et était étaient être eu eux fait il ils j je l la laquelle le lequel les lesquels leur leurs
		lors lui m ma mais me même mes moi moins mon n ne ni non nos notre nous on ont ou où par parce pas pendant peu
		peut peuvent plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se selon sera ses si
		soit son sont sous sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y`,
	Letters: "çœêèàù",
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever + ` dr pr prof mgr me m mm mme mlle st ste p.ex ex env c.-à-d av j.-c apr`,
		Numbered: scholarlyNumbered + ` chap art vol t num janv févr avr juil sept oct nov déc`,
		Either:   scholarlyEither + ` cie s.a hab c.q.f.d`,
		Openers: `le la les l un une des du de ce cet cette ces il elle ils elles on nous vous je j leur son sa ses
			dans en au aux à sur sous par pour avec sans chez mais ou et donc or ni car si quand lorsque comme après
			avant depuis pendant selon malgré ainsi alors aussi cependant toutefois enfin puis où qui que quoi comment
			pourquoi`,
	},
	Vocabulary: &Vocabulary{
		HowMany: `combien|quel age|quelle part|quel pourcentage|quelle distance`,
		When:    `quand|quelle annee|en quelle annee|quelle date`,
		Who:     `qui`,
		Where:   `ou est|ou sont|ou se|d ou`,
		Why:     `pourquoi`,
		Numbers: `deux trois quatre cinq six sept huit neuf dix onze douze cent mille million milliard moitié tiers
			pourcent`,
		Dates:    `janvier février mars avril mai juin juillet août septembre octobre novembre décembre siècle décennie`,
		Causes:   `parce cause raison grâce puisque afin donc`,
		Subjects: `il elle ils elles ce cet cette ces cela celui celle son sa ses leur leurs`,
		Pronouns: `il elle ils elles lui leur leurs son sa ses ce cet cette ces cela y en`,
		Weak: `important importance signifie connu fonctionne inventa inventé inventeur écrivit écrit auteur auteurs
			découvrit découvert développé publié décrit`,
	},
	Phrases: &Phrases{
		Answered:   "Citations de vos sources :",
		Listed:     "Documents correspondants :",
		Closest:    "Passages les plus proches ; ils ne répondent peut-être pas :",
		Lacking:    "Absent du meilleur passage : %s.",
		Unanswered: "Le modèle n’a pas trouvé de réponse dans ce qui a été lu.",
		Failed:     "Le modèle n’a pas répondu ; voici des citations de vos sources. (%s)",
		PartialCap: "Cette réponse est partielle, car le plafond de dépenses est atteint. Voici des citations de vos " +
			"sources :",
		PartialTime:  "Cette réponse est partielle, car le temps a manqué. Voici des citations de vos sources :",
		NoSources:    "Cet agent n’a pas encore de sources : il n’y a rien d’où répondre.",
		NoDocuments:  "Il n’y a pas encore de documents dans %s : il n’y a rien d’où répondre.",
		Nothing:      "Rien ne correspond dans %s.",
		NoSource:     "Aucune source ne contient %s.",
		TooLittle:    "Aucun passage ne contient assez de la question ; il manque au meilleur %s.",
		Searched:     "Recherché dans : %s.",
		Incomplete:   "Tout n’a pas pu être cherché :",
		And:          "et",
		Or:           "ou",
		Source:       "source",
		Sources:      "sources",
		Document:     "document",
		Documents:    "documents",
		Page:         "p.",
		Untitled:     "Sans titre",
		Partial:      "Cette réponse est partielle : %s.",
		RanOut:       "le temps a manqué",
		BrokeOff:     "la réponse du modèle s’est interrompue",
		TooLong:      "elle est plus longue qu’une réponse ne peut l’être",
		CapReached:   "le plafond de dépenses est atteint",
		FailedEarly:  "le modèle a échoué avant que tout soit lu",
		UsedUp:       "elle a épuisé ce qu’une réponse peut prendre",
		WasCancelled: "elle a été annulée",
		NotFound:     "Ce qui n’a pas été trouvé",
		Disagreement: "Ce sur quoi les sources divergent",
		Unfinished:   "Ce qui n’a pas été terminé",
		NoAnswers:    "Aucune source ne répond à ces questions :",
		QuotesOnly:   "Cette section n’a pas été rédigée. Citations de vos sources :",
		ByDocument:   "Citations de vos sources, par document :",
	},
	FollowUp: "Que disent encore les sources sur %s ?",
}
