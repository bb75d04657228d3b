package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/italian"
)

var italianLanguage = &Language{
	Code: "it", Name: "Italian", Script: unicode.Latin,
	Aliases: "ita italiano",
	Stem:    italian.Stem,
	StopWords: `a ad agli ai al all alla alle allo anche c che chi ci ciò col come con contro cos cosa cui d da dagli
		dai dal dall dalla dalle dallo degli dei del dell della delle dello di dopo dove dovrebbe due e è ed era erano
		essere fra gli ha hanno i il in io l la le lei li lo loro lui m ma mentre mi mia mio ne negli nei nel nell
		nella nelle nello noi non nostra nostro o ogni per perché però più poi può prima qual quale quali quando quanto
		quella quelle quelli quello questa queste questi questo qui s se senza si sia siamo sono sta stato su sua sue
		sugli sui sul sull sulla sulle sullo suo suoi t ti tra tu tutti tutto un una uno v vi voi`,
	Letters: "èàùò",
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever + ` sig sigg sig.ra dott dott.ssa prof prof.ssa ing avv on mons p.es es s ss`,
		Numbered: scholarlyNumbered + ` n num pag pagg art cap vol t`,
		Either:   scholarlyEither + ` ecc s.p.a s.r.l a.c d.c`,
		Openers: `il lo la i gli le l un uno una questo questa questi queste quello egli lui lei loro essi si suo sua
			suoi in nel nella nei a al alla di del della da dal per con su tra fra e o ma se quando come mentre dopo
			prima durante anche inoltre tuttavia infatti non così che chi dove`,
	},
	Vocabulary: &Vocabulary{
		HowMany: `quanti|quante|quanto|quanta|che percentuale`,
		When:    `quando|che anno|quale anno|in che secolo`,
		Who:     `chi`,
		Where:   `dove|dov`,
		Why:     `perche`,
		Numbers: `due tre quattro cinque sei sette otto nove dieci undici dodici cento mille milione miliardo metà
			terzo`,
		Dates: `gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre secolo
			decennio`,
		Causes:   `perché causa motivo ragione grazie`,
		Subjects: `egli lui lei essa esso essi loro questo questa questi queste ciò suo sua suoi sue`,
		Pronouns: `egli lui lei essa esso essi loro questo questa questi queste ciò suo sua suoi sue`,
	},
}
