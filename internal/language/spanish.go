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
		Fillers:  `dicen diga di sabe sabes significa fuentes documentos más`,
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
	Conversation: &Conversation{
		Greetings: `hola|buenos días|buenas tardes|buenas noches|buenas|buen día|saludos`,
		Thanks:    `gracias|muchas gracias|mil gracias|muchísimas gracias|se lo agradezco|te lo agradezco`,
		Remarks: `vale|de acuerdo|bien|muy bien|bueno|perfecto|genial|estupendo|excelente|entendido|entiendo|ya veo|
			interesante|adiós|hasta luego|hasta pronto|hasta mañana|chao|qué tal|cómo estás|cómo está|cómo está usted|
			encantado|encantada|no importa|da igual|olvídalo|déjalo`,
		Courtesies: `hola|a|todos|todas|usted|tú|qué|tal|cómo|estás|está|muy|mucho|muchas|por|su|tu|la|el|las|los|esta|
			ayuda|respuesta|respuestas|es|fue|ha|sido|útil|perfecto|genial|estupendo|excelente|vale|ok|sí|y|adiós|de|
			acuerdo|todo|claro|interesante|bien|gracias`,
		Abilities: `qué puedes hacer|qué puede hacer|qué puedes hacer por mí|qué puede hacer por mí|qué sabes hacer|qué sabe
			hacer|para qué sirves|para qué sirve|quién eres|quién es usted|ayuda|ayúdame|ayúdeme|puedes ayudarme|puede
			ayudarme|cómo puedes ayudarme|cómo puede ayudarme|me puedes ayudar|me puede ayudar|cómo funcionas|cómo funciona
			esto|qué puedo preguntar|qué puedo preguntarte|qué puedo preguntarle|qué te puedo preguntar|qué le puedo
			preguntar|qué preguntas puedo hacer|cómo te llamas|cómo se llama usted|eres un robot|es usted un robot|eres una
			ia|es usted una ia|cuáles son tus fuentes|cuáles son sus fuentes|qué fuentes tienes|qué fuentes tiene`,
		AboutUser: `sabes de mí|sabe de mí|sabes sobre mí|sabe sobre mí|cómo me llamo|cuál es mi nombre|quién soy|quién soy
			yo|sabes mi nombre|sabe mi nombre|recuerdas de mí|recuerda de mí|recuerdas sobre mí|recuerda sobre mí|qué
			recuerdas|qué recuerda`,
		History: `he preguntado|te pregunté|le pregunté|te he preguntado|le he preguntado|pregunté antes|pregunté primero|
			pregunté al principio|fue mi primera pregunta|fue mi última pregunta|era mi pregunta|fue mi pregunta|fueron mis
			preguntas|mis preguntas anteriores|mi pregunta anterior|de qué hemos hablado|de qué hablamos|cuál fue tu última
			respuesta|cuál fue su última respuesta`,
		Polite: `por favor|puedes|podrías|puede|podría|y|ok|vale|ahora|entonces|pues|hola|bien`,
		Rewrites: `reescribe|reescriba|reescribir|reformula|reformule|reformular|acorta|acorte|acortar|resume|resuma|resumir|
			simplifica|simplifique|simplificar|traduce|traduzca|traducir|pon|ponga|poner|escribe|escriba|escribir|explica|
			explique|explicar|repite|repita|repetir|compara|compare|comparar|haz|haga|hacer|di|diga|decir|da|dé|convierte|
			convierta|convertir|acórtalo|acórtelo|resúmelo|resúmalo|tradúcelo|tradúzcalo|hazlo|hágalo|ponlo|póngalo|repítelo|
			repítalo|simplifícalo|simplifíquelo|explícalo|explíquelo|dilo|dígalo`,
		Pronouns: `eso|esto|lo|la|los|las|todo eso|todo esto|ambos|los dos|las dos`,
		Joins:    `en|al|a|como|para|con|sin|más|menos|otra|un|una|y|pero|brevemente|de`,
		Replies: `tu respuesta|su respuesta|la respuesta|tu última respuesta|su última respuesta|la última respuesta|la
			respuesta anterior|tus respuestas|sus respuestas|las respuestas|las dos respuestas|tu primera respuesta|su
			primera respuesta|este texto|lo que dijiste|lo que dijo|lo anterior`,
		Forms: `más corto|más corta|más breve|más largo|más sencillo|más simple|en una frase|en una sola frase|en dos frases|
			en pocas palabras|con palabras sencillas|en otras palabras|con otras palabras|de otra manera|en español|en inglés|
			en alemán|en francés|en italiano|al español|al inglés|al alemán|al francés|como tabla|en una tabla|una tabla|como
			lista|en una lista|una lista|como un correo|otra vez|de nuevo|acórtalo|acórtelo|
			resúmelo|resúmalo|tradúcelo|tradúzcalo|simplifícalo|simplifíquelo|repítelo|repítalo`,
		Hello:        "Hola. Respondo a las preguntas con citas de sus fuentes.",
		Welcome:      "De nada.",
		Acknowledged: "De acuerdo. Pregúnteme cuando quiera.",
		Able: "Busco en sus fuentes y cito las frases que responden a su pregunta, cada una con su documento. Dígame que " +
			"recuerde u olvide algo, o que añada un documento a sus favoritos. No hay ningún modelo de lenguaje " +
			"configurado, así que no puedo escribir ni reescribir textos.",
		YouCouldAsk:       "Podría preguntar:",
		Remembered:        "Recuerdo esto sobre usted:",
		NothingRemembered: "No recuerdo nada sobre usted.",
		Asked:             "Ha preguntado:",
		NothingAsked:      "No ha preguntado nada más en este chat.",
		NoRewriting: "Para reescribir hace falta un modelo de lenguaje, y no hay ninguno configurado. Solo puedo citar sus " +
			"fuentes palabra por palabra.",
		WhatIs:    "¿Qué significa «%s»?",
		SaysAbout: "¿Qué dicen sus fuentes sobre «%s»?",
	},
	FollowUp: "¿Qué más dicen las fuentes sobre %s?",
}
