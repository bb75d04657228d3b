package research

import (
	"cmp"
	"slices"
	"strings"

	"carrel/internal/language"
	"carrel/internal/search/analysis"
	"carrel/internal/thread"
)

// actionTexts are the sentences of replies that neither a source nor a model wrote.
type actionTexts struct {
	done, unchanged                       map[thread.ActionKind]string
	choose                                map[thread.ActionKind]string
	noMemory, noDocument, refused, failed string
	nothing, noReply                      string
	proposed, notProposed                 string
}

var actionTextsIn = map[string]actionTexts{
	"en": {
		done: map[thread.ActionKind]string{
			thread.ActionRemember: "Remembered: “%s”", thread.ActionForget: "Forgotten: “%s”",
			thread.ActionSave: "Saved to your favourites: %s", thread.ActionUnsave: "Removed from your favourites: %s",
		},
		unchanged: map[thread.ActionKind]string{
			thread.ActionRemember: "I already remember this: “%s”",
			thread.ActionSave:     "Already in your favourites: %s", thread.ActionUnsave: "Not in your favourites: %s",
		},
		choose: map[thread.ActionKind]string{
			thread.ActionForget: "Which of these should I forget?", thread.ActionSave: "Which of these should I save?",
			thread.ActionUnsave: "Which of these should I remove?",
		},
		noMemory: "I have no memory about “%s”.", noDocument: "No cited document fits “%s”.",
		refused: "You may not do this with this agent.", failed: "This did not work. Try again.",
		nothing: "Nothing was changed.", noReply: "The model did not answer in time.",
		proposed:    "Suggested memory: “%s” Save or dismiss it on the Memories page.",
		notProposed: "The memory could not be saved. Try again, or add it on the Memories page.",
	},
	"de": {
		done: map[thread.ActionKind]string{
			thread.ActionRemember: "Gemerkt: „%s“", thread.ActionForget: "Vergessen: „%s“",
			thread.ActionSave: "Zu deinen Favoriten hinzugefügt: %s", thread.ActionUnsave: "Aus deinen Favoriten entfernt: %s",
		},
		unchanged: map[thread.ActionKind]string{
			thread.ActionRemember: "Das habe ich mir schon gemerkt: „%s“",
			thread.ActionSave:     "Bereits in deinen Favoriten: %s", thread.ActionUnsave: "Nicht in deinen Favoriten: %s",
		},
		choose: map[thread.ActionKind]string{
			thread.ActionForget: "Was davon soll ich vergessen?", thread.ActionSave: "Was davon soll ich speichern?",
			thread.ActionUnsave: "Was davon soll ich entfernen?",
		},
		noMemory: "Ich habe mir nichts über „%s“ gemerkt.", noDocument: "Kein zitiertes Dokument passt zu „%s“.",
		refused: "Das darfst du mit diesem Agenten nicht.", failed: "Das hat nicht geklappt. Versuch es noch einmal.",
		nothing: "Nichts wurde geändert.", noReply: "Das Modell hat nicht rechtzeitig geantwortet.",
		proposed: "Vorgeschlagene Erinnerung: „%s“ Speichere oder verwirf sie auf der Seite Gedächtnis.",
		notProposed: "Die Erinnerung wurde nicht gespeichert. Versuch es noch einmal, oder füge sie auf der Seite " +
			"Gedächtnis hinzu.",
	},
	"fr": {
		done: map[thread.ActionKind]string{
			thread.ActionRemember: "Retenu : « %s »", thread.ActionForget: "Oublié : « %s »",
			thread.ActionSave: "Ajouté à vos favoris : %s", thread.ActionUnsave: "Retiré de vos favoris : %s",
		},
		unchanged: map[thread.ActionKind]string{
			thread.ActionRemember: "Je l’ai déjà retenu : « %s »",
			thread.ActionSave:     "Déjà dans vos favoris : %s", thread.ActionUnsave: "Pas dans vos favoris : %s",
		},
		choose: map[thread.ActionKind]string{
			thread.ActionForget: "Que dois-je oublier ?", thread.ActionSave: "Que dois-je enregistrer ?",
			thread.ActionUnsave: "Que dois-je retirer ?",
		},
		noMemory: "Je n’ai rien retenu sur « %s ».", noDocument: "Aucun document cité ne correspond à « %s ».",
		refused: "Vous ne pouvez pas faire cela avec cet agent.", failed: "Cela n’a pas fonctionné. Réessayez.",
		nothing: "Rien n’a été modifié.", noReply: "Le modèle n’a pas répondu à temps.",
		proposed:    "Souvenir proposé : « %s » Enregistrez-le ou ignorez-le sur la page Souvenirs.",
		notProposed: "Le souvenir n’a pas pu être enregistré. Réessayez, ou ajoutez-le sur la page Souvenirs.",
	},
	"es": {
		done: map[thread.ActionKind]string{
			thread.ActionRemember: "Recordado: «%s»", thread.ActionForget: "Olvidado: «%s»",
			thread.ActionSave: "Añadido a sus favoritos: %s", thread.ActionUnsave: "Quitado de sus favoritos: %s",
		},
		unchanged: map[thread.ActionKind]string{
			thread.ActionRemember: "Ya lo recuerdo: «%s»",
			thread.ActionSave:     "Ya está en sus favoritos: %s", thread.ActionUnsave: "No está en sus favoritos: %s",
		},
		choose: map[thread.ActionKind]string{
			thread.ActionForget: "¿Cuál debo olvidar?", thread.ActionSave: "¿Cuál debo guardar?",
			thread.ActionUnsave: "¿Cuál debo quitar?",
		},
		noMemory: "No recuerdo nada sobre «%s».", noDocument: "Ningún documento citado coincide con «%s».",
		refused: "No puede hacer esto con este agente.", failed: "No ha funcionado. Inténtelo de nuevo.",
		nothing: "No se ha cambiado nada.", noReply: "El modelo no respondió a tiempo.",
		proposed:    "Recuerdo propuesto: «%s» Guárdelo o descártelo en la página Recuerdos.",
		notProposed: "No se pudo guardar el recuerdo. Inténtelo de nuevo o añádalo en la página Recuerdos.",
	},
}

// requestWords are words of requests by language. Requests are often too short to guess their language otherwise.
var requestWords = []struct {
	code  string
	words []string
}{
	{"de", strings.Fields(`ich mir mich mein meine meiner meines meinen meinem dir dich dein deine deiner deines deinen
		deinem bitte nicht und ist das speicher speichere speichern vergiss merk merke entferne lösche danke hallo
		favoriten`)},
	{"fr", strings.Fields(`je mon ma mes moi vous que les des ajoute ajoutez enregistre enregistrez oublie oubliez
		retiens retenez retire retirez supprime supprimez merci bonjour favoris plaît premier première deuxième
		dernier dernière tous toutes aucun aucune`)},
	{"es", strings.Fields(`yo mi mis me que el los las del guarda guarde añade añada olvida olvide recuerda recuerde
		quita quite elimina elimine gracias hola favoritos favor primer primero primera segundo segunda último última
		todos todas ninguno ninguna`)},
}

// actionTexts returns the sentences in the language of the message, or in English.
func (t *turn) actionTexts() actionTexts {
	code := cmp.Or(analysis.Guess(t.q.Text), languageOfRequest(t.q.Text))
	if texts, ok := actionTextsIn[code]; ok {
		return texts
	}
	return actionTextsIn[language.Default]
}

// languageOfRequest returns the language that has the most words of a message, or "" if none has any.
func languageOfRequest(message string) string {
	words := strings.FieldsFunc(foldSentence(message), func(r rune) bool { return r == ' ' || r == ',' })
	code, most := "", 0
	for _, l := range requestWords {
		n := 0
		for _, word := range words {
			if slices.Contains(l.words, word) {
				n++
			}
		}
		if n > most {
			code, most = l.code, n
		}
	}
	return code
}
