package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/spanish"
)

var spanishLanguage = &Language{
	Code: "es", Name: "Spanish", Script: unicode.Latin,
	Aliases: "spa español castellano castilian",
	Stem:    spanish.Stem,
	StopWords: `a al algo algunas algunos ante antes aquel aquella así aún aunque cada como cómo con contra cual cuál
		cuales cuáles cuando cuándo cuanto cuánto cuántos de del desde donde dónde dos durante e el él ella ellas ellos
		en entre era eran es esa esas ese eso esos esta está están estas este esto estos fue fueron ha había han hasta
		hay la las le les lo los más me mi mí mientras muy ni no nos nosotros o otra otras otro otros para pero poco
		por porque pues que qué quien quién quienes quiénes se sea según ser si sí sido sin sobre son su sus también
		tanto te tiene tienen todo todos tras tu un una unas uno unos usted y ya yo`,
	Letters: "ñ",
	Abbreviations: &Abbreviations{
		Never:    scholarlyNever + ` sr sra srta sres dr dra d dña prof lic ing p.ej ej ee uu ud uds st sto sta`,
		Numbered: scholarlyNumbered + ` núm pág págs art cap t vol`,
		Either:   scholarlyEither + ` s.a c.a a.c d.c aprox`,
		Openers: `el la los las un una unos unas este esta estos estas ese esa eso él ella ellos ellas se su sus lo en
			a al de del por para con sin sobre entre desde hasta según y o pero si cuando como aunque mientras después
			antes durante también además sin embargo no hay así qué quién dónde cómo`,
	},
	Vocabulary: &Vocabulary{
		HowMany: `cuantos|cuantas|cuanto|cuanta|que porcentaje|que edad`,
		When:    `cuando|que ano|que fecha|que siglo`,
		Who:     `quien|quienes`,
		Where:   `donde|adonde`,
		Why:     `por que`,
		Numbers: `dos tres cuatro cinco seis siete ocho nueve diez once doce cien mil millón mitad tercio ciento`,
		Dates: `enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre siglo
			década`,
		Causes:   `porque causa razón debido motivo`,
		Subjects: `él ella ellos ellas este esta estos estas esto ese esa su sus`,
		Pronouns: `ella ellos ellas su sus este esta estos estas esto ese esa eso lo le les`,
		Weak: `importante importancia significa conocido funciona inventó inventado inventor escribió escrito autor
			autores descubrió descubierto desarrolló desarrollado publicado describió`,
	},
	Phrases: &Phrases{
		Answered:     "Citas de sus fuentes:",
		Listed:       "Documentos que coinciden:",
		Closest:      "Pasajes más cercanos; puede que no respondan a esto:",
		Lacking:      "No está en el mejor pasaje: %s.",
		Unanswered:   "El modelo no encontró respuesta a esto en lo leído.",
		Failed:       "El modelo no respondió; estas son citas de sus fuentes. (%s)",
		PartialCap:   "Esta respuesta es parcial, porque se alcanzó el límite de gasto. Estas son citas de sus fuentes:",
		PartialTime:  "Esta respuesta es parcial, porque faltó tiempo. Estas son citas de sus fuentes:",
		NoSources:    "Este agente aún no tiene fuentes, así que no hay de dónde responder.",
		NoDocuments:  "Aún no hay documentos en %s, así que no hay de dónde responder.",
		Nothing:      "Nada coincide en %s.",
		NoSource:     "Ninguna fuente contiene %s.",
		TooLittle:    "Ningún pasaje contiene bastante de la pregunta; al mejor le falta %s.",
		Searched:     "Se buscó en: %s.",
		Incomplete:   "No se pudo buscar en todo:",
		And:          "y",
		Or:           "o",
		Source:       "fuente",
		Sources:      "fuentes",
		Document:     "documento",
		Documents:    "documentos",
		Page:         "p.",
		Untitled:     "Sin título",
		Partial:      "Esta respuesta es parcial: %s.",
		RanOut:       "faltó tiempo",
		BrokeOff:     "la respuesta del modelo se interrumpió",
		TooLong:      "es más larga de lo que puede ser una respuesta",
		CapReached:   "se alcanzó el límite de gasto",
		FailedEarly:  "el modelo falló antes de leerlo todo",
		UsedUp:       "agotó lo que puede tomar una respuesta",
		WasCancelled: "se canceló",
		NotFound:     "Lo que no se encontró",
		Disagreement: "En qué discrepan las fuentes",
		Unfinished:   "Lo que no se terminó",
		NoAnswers:    "Ninguna fuente responde a estas preguntas:",
		QuotesOnly:   "Esta sección no se escribió. Citas de sus fuentes:",
		ByDocument:   "Citas de sus fuentes, por documento:",
	},
	FollowUp: "¿Qué más dicen las fuentes sobre %s?",
}
