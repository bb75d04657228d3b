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
		Fillers:  `disent dites dis savez sais parle parlez signifie sources documents plus`,
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
	Conversation: &Conversation{
		Greetings: `bonjour|bonsoir|salut|coucou|bonne journée|bien le bonjour`,
		Thanks:    `merci|merci beaucoup|merci bien|mille mercis|grand merci|je vous remercie|je te remercie`,
		Remarks: `daccord|dac|bien|très bien|parfait|génial|excellent|compris|je vois|entendu|bien reçu|intéressant|ça marche|
			au revoir|à bientôt|à plus tard|à plus|bonne nuit|bonne soirée|comment allez vous|comment vas tu|comment ça va|ça
			va|enchanté|laisse tomber|laissez tomber|tant pis|peu importe`,
		Courtesies: `bonjour|bonsoir|salut|à|tous|toutes|vous|toi|tu|comment|allez|vas|ça|va|bien|beaucoup|infiniment|pour|
			votre|ton|ta|vos|tes|la|le|les|l|cette|aide|laide|réponse|réponses|cest|cétait|est|très|utile|parfait|
			génial|super|excellent|daccord|ok|oui|et|au|revoir|tout|clair|intéressant`,
		Abilities: `que pouvez vous faire|que peux tu faire|quest ce que vous pouvez faire|quest ce que tu peux faire|que
			sais tu faire|que savez vous faire|à quoi sers tu|à quoi servez vous|qui êtes vous|qui es tu|aide|aidez moi|
			aide moi|pouvez vous maider|peux tu maider|comment pouvez vous maider|comment peux tu maider|comment ça marche|
			comment fonctionnez vous|que puis je demander|que puis je vous demander|que puis je te demander|quelles questions
			puis je poser|comment vous appelez vous|comment tappelles tu|êtes vous un robot|es tu un robot|êtes vous une ia|
			es tu une ia|quelles sont vos sources|quelles sources avez vous`,
		AboutUser: `savez vous de moi|savez vous sur moi|sais tu de moi|sais tu sur moi|comment je mappelle|quel est mon nom|
			quel est mon prénom|qui suis je|connaissez vous mon nom|connais tu mon nom|avez vous retenu|as tu retenu|avez
			vous retenu sur moi|as tu retenu sur moi|de quoi vous souvenez vous|de quoi te souviens tu`,
		History: `ai je demandé|quai je demandé|jai demandé|vous ai je demandé|tai je demandé|était ma première
			question|était ma dernière question|était ma question|étaient mes questions|mes questions précédentes|ma question
			précédente|de quoi avons nous parlé|de quoi on a parlé|avez vous dit en dernier|as tu dit en dernier`,
		Polite: `sil vous plaît|sil te plaît|svp|stp|pouvez vous|pourriez vous|peux tu|pourrais tu|et|ok|daccord|alors|
			maintenant|bonjour|salut|donc`,
		Rewrites: `réécris|réécrivez|reformule|reformulez|raccourcis|raccourcissez|résume|résumez|simplifie|simplifiez|
			traduis|traduisez|réécrire|reformuler|raccourcir|résumer|simplifier|traduire|mets|mettez|mettre|écris|écrivez|
			écrire|explique|expliquez|expliquer|répète|répétez|répéter|compare|comparez|fais|faites|faire|dis|dites|donne|
			donnez|transforme|transformez|transformer`,
		Pronouns: `ça|cela|ceci|le|la|les|tout ça|tout cela|les deux|en|moi ça|moi cela`,
		Joins:    `en|au|sous|comme|à|pour|avec|sans|plus|moins|encore|un|une|et|mais|brièvement|simplement|autrement`,
		Replies: `ta réponse|votre réponse|la réponse|ta dernière réponse|votre dernière réponse|la dernière réponse|la
			réponse précédente|tes réponses|vos réponses|les réponses|les deux réponses|ta première réponse|votre première
			réponse|ce texte|ce que tu as dit|ce que vous avez dit|ce qui précède`,
		Forms: `plus court|plus courte|plus long|plus simple|plus simplement|plus brièvement|en une phrase|en deux phrases|en
			une seule phrase|en quelques mots|en termes simples|en dautres termes|autrement|en français|en anglais|en
			allemand|en espagnol|en italien|sous forme de tableau|en tableau|un tableau|sous forme de liste|en liste|une
			liste|en un e mail|comme un e mail|encore une fois`,
		Hello:        "Bonjour. Je réponds aux questions par des citations de vos sources.",
		Welcome:      "Je vous en prie.",
		Acknowledged: "D’accord. Posez-moi une question quand vous voulez.",
		Able: "Je cherche dans vos sources et je cite les phrases qui répondent à votre question, chacune avec son " +
			"document. Dites-moi de retenir ou d’oublier quelque chose, ou d’ajouter un document à vos favoris. Aucun " +
			"modèle de langage n’est configuré : je ne peux donc ni rédiger ni réécrire de textes.",
		YouCouldAsk:       "Vous pourriez demander :",
		Remembered:        "Voici ce que j’ai retenu à votre sujet :",
		NothingRemembered: "Je n’ai rien retenu à votre sujet.",
		Asked:             "Vous avez demandé :",
		NothingAsked:      "Vous n’avez rien demandé d’autre dans cette discussion.",
		NoRewriting: "Réécrire un texte demande un modèle de langage, et aucun n’est configuré. Je peux seulement citer " +
			"vos sources mot à mot.",
		WhatIs:    "Que signifie « %s » ?",
		SaysAbout: "Que disent vos sources sur « %s » ?",
	},
	FollowUp: "Que disent encore les sources sur %s ?",
}
