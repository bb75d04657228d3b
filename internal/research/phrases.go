package research

import (
	"strconv"

	"carrel/internal/search/analysis"
)

// phrases are the words of our own in a reply, in one language. They say what kind of answer it is; the rest of it are
// words of sources or of a model. Each %s is filled in.
type phrases struct {
	answered, closest, lacking             string
	unanswered, failed                     string
	partialCap, partialTime                string
	noSources, noDocuments                 string
	nothing, noSource, tooLittle, searched string
	incomplete                             string
	and, or                                string
	source, sources, document, documents   string
	page, untitled                         string
	partial, ranOut, brokeOff, tooLong     string
	capReached, failedEarly, usedUp        string
}

// spoken are the phrases by language.
var spoken = map[string]phrases{
	"en": {
		answered: "Quotes from your sources:", closest: "Closest passages; they may not answer this:", lacking: "Not in the best passage: %s.",
		unanswered:  "The model found no answer to this in what was read.",
		failed:      "The model did not answer; these are quotes from your sources. (%s)",
		partialCap:  "This answer is partial, because the spending cap was reached. These are quotes from your sources:",
		partialTime: "This answer is partial, because the time for it ran out. These are quotes from your sources:",
		noSources:   "This agent has no sources yet, so there is nothing to answer from.",
		noDocuments: "There are no documents in %s yet, so there is nothing to answer from.",
		nothing:     "Nothing in %s matched.", noSource: "No source holds %s.",
		tooLittle: "No passage holds enough of the question; the best lacks %s.", searched: "Searched: %s.",
		incomplete: "Not everything could be searched:", and: "and", or: "or",
		source: "source", sources: "sources", document: "document", documents: "documents", page: "p.", untitled: "Untitled",
		partial: "This answer is partial: %s.", ranOut: "the time for it ran out", brokeOff: "the model's answer broke off",
		tooLong: "it grew longer than an answer may be", capReached: "the spending cap was reached",
		failedEarly: "the model failed before all was read", usedUp: "it used up what one turn may take",
	},
	"de": {
		answered: "Zitate aus deinen Quellen:", closest: "Die nächsten Stellen; vielleicht beantworten sie das nicht:", lacking: "Nicht in der besten Stelle: %s.",
		unanswered:  "Das Modell fand im Gelesenen keine Antwort darauf.",
		failed:      "Das Modell hat nicht geantwortet; dies sind Zitate aus deinen Quellen. (%s)",
		partialCap:  "Diese Antwort ist unvollständig, weil die Ausgabengrenze erreicht ist. Dies sind Zitate aus deinen Quellen:",
		partialTime: "Diese Antwort ist unvollständig, weil die Zeit nicht reichte. Dies sind Zitate aus deinen Quellen:",
		noSources:   "Dieser Agent hat noch keine Quellen, es gibt also nichts, woraus er antworten könnte.",
		noDocuments: "In %s sind noch keine Dokumente, es gibt also nichts, woraus zu antworten wäre.",
		nothing:     "In %s passt nichts dazu.", noSource: "Keine Quelle enthält %s.",
		tooLittle: "Keine Stelle enthält genug von der Frage; der besten fehlt %s.", searched: "Durchsucht: %s.",
		incomplete: "Nicht alles konnte durchsucht werden:", and: "und", or: "oder",
		source: "Quelle", sources: "Quellen", document: "Dokument", documents: "Dokumente", page: "S.", untitled: "Ohne Titel",
		partial: "Diese Antwort ist unvollständig: %s.", ranOut: "die Zeit reichte nicht", brokeOff: "die Antwort des Modells brach ab",
		tooLong: "sie wurde länger, als eine Antwort sein darf", capReached: "die Ausgabengrenze ist erreicht",
		failedEarly: "das Modell versagte, bevor alles gelesen war", usedUp: "sie hat verbraucht, was eine Antwort verbrauchen darf",
	},
	"fr": {
		answered: "Citations de vos sources :", closest: "Passages les plus proches ; ils ne répondent peut-être pas :", lacking: "Absent du meilleur passage : %s.",
		unanswered:  "Le modèle n’a pas trouvé de réponse dans ce qui a été lu.",
		failed:      "Le modèle n’a pas répondu ; voici des citations de vos sources. (%s)",
		partialCap:  "Cette réponse est partielle, car le plafond de dépenses est atteint. Voici des citations de vos sources :",
		partialTime: "Cette réponse est partielle, car le temps a manqué. Voici des citations de vos sources :",
		noSources:   "Cet agent n’a pas encore de sources : il n’y a rien d’où répondre.",
		noDocuments: "Il n’y a pas encore de documents dans %s : il n’y a rien d’où répondre.",
		nothing:     "Rien ne correspond dans %s.", noSource: "Aucune source ne contient %s.",
		tooLittle: "Aucun passage ne contient assez de la question ; il manque au meilleur %s.", searched: "Recherché dans : %s.",
		incomplete: "Tout n’a pas pu être cherché :", and: "et", or: "ou",
		source: "source", sources: "sources", document: "document", documents: "documents", page: "p.", untitled: "Sans titre",
		partial: "Cette réponse est partielle : %s.", ranOut: "le temps a manqué", brokeOff: "la réponse du modèle s’est interrompue",
		tooLong: "elle est plus longue qu’une réponse ne peut l’être", capReached: "le plafond de dépenses est atteint",
		failedEarly: "le modèle a échoué avant que tout soit lu", usedUp: "elle a épuisé ce qu’une réponse peut prendre",
	},
	"es": {
		answered: "Citas de sus fuentes:", closest: "Pasajes más cercanos; puede que no respondan a esto:", lacking: "No está en el mejor pasaje: %s.",
		unanswered:  "El modelo no encontró respuesta a esto en lo leído.",
		failed:      "El modelo no respondió; estas son citas de sus fuentes. (%s)",
		partialCap:  "Esta respuesta es parcial, porque se alcanzó el límite de gasto. Estas son citas de sus fuentes:",
		partialTime: "Esta respuesta es parcial, porque faltó tiempo. Estas son citas de sus fuentes:",
		noSources:   "Este agente aún no tiene fuentes, así que no hay de dónde responder.",
		noDocuments: "Aún no hay documentos en %s, así que no hay de dónde responder.",
		nothing:     "Nada coincide en %s.", noSource: "Ninguna fuente contiene %s.",
		tooLittle: "Ningún pasaje contiene bastante de la pregunta; al mejor le falta %s.", searched: "Se buscó en: %s.",
		incomplete: "No se pudo buscar en todo:", and: "y", or: "o",
		source: "fuente", sources: "fuentes", document: "documento", documents: "documentos", page: "p.", untitled: "Sin título",
		partial: "Esta respuesta es parcial: %s.", ranOut: "faltó tiempo", brokeOff: "la respuesta del modelo se interrumpió",
		tooLong: "es más larga de lo que puede ser una respuesta", capReached: "se alcanzó el límite de gasto",
		failedEarly: "el modelo falló antes de leerlo todo", usedUp: "agotó lo que puede tomar una respuesta",
	},
}

// phrases returns the words of our own in the language of the question, or of the sources where it is too short to
// tell; English where we have none.
func (t *turn) phrases() phrases {
	language := analysis.Guess(t.text)
	if language == "" {
		language = t.ready.language(nil)
	}
	if p, ok := spoken[language]; ok {
		return p
	}
	return spoken[analysis.DefaultLanguage]
}

// ofSources and ofDocuments count: "1 source", "3 sources".
func (p phrases) ofSources(n int) string { return several(n, p.source, p.sources) }

func (p phrases) ofDocuments(n int) string { return several(n, p.document, p.documents) }

func several(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}
