package webapp

// germanTexts are the texts of the pages in German, with the formal address that the web app uses.
var germanTexts = texts{
	"api_reference":  "API-Referenz",
	"back":           "Zurück",
	"code":           "Code",
	"code_hint":      "Der 6-stellige Code aus Ihrer Authenticator-App oder ein Wiederherstellungscode.",
	"continue":       "Weiter",
	"email":          "E-Mail-Adresse",
	"enter_code":     "Geben Sie den Code aus Ihrer Authenticator-App ein.",
	"enter_email":    "Geben Sie Ihre E-Mail-Adresse ein.",
	"enter_password": "Geben Sie Ihr Passwort ein.",
	"home":           "Zu Carrel",
	"new_password":   "Neues Passwort",
	"password":       "Passwort",
	"password_hint":  "Mindestens 8 Zeichen. Mehrere Wörter ergeben ein gutes Passwort.",
	"sign_in":        "Anmelden",
	"sign_in_with":   "Mit {provider} anmelden",
	"sign_out":       "Abmelden",
	"use_passkey":    "Passkey verwenden",
	"wrong_code":     "Falscher oder schon benutzter Code. Warten Sie auf den nächsten und geben Sie ihn gleich ein.",
	"wrong_password": "Falsches Passwort.",

	"date":         "{day}. {month} {year}, {time} UTC",
	"month.1":      "Januar",
	"month.2":      "Februar",
	"month.3":      "März",
	"month.4":      "April",
	"month.5":      "Mai",
	"month.6":      "Juni",
	"month.7":      "Juli",
	"month.8":      "August",
	"month.9":      "September",
	"month.10":     "Oktober",
	"month.11":     "November",
	"month.12":     "Dezember",
	"wait.second":  "1 Sekunde",
	"wait.seconds": "{count} Sekunden",
	"wait.minutes": "{count} Minuten",

	"welcome.title":      "Agenten, die ihre Quellen kennen",
	"welcome.text":       "Durchsuchen Sie Ihre Quellen, stellen Sie Fragen und erhalten Sie Antworten mit Belegen.",
	"welcome.setup_text": "Diese Installation hat noch keine Konten.",
	"welcome.setup":      "Carrel einrichten",

	"home.title":     "Hallo, {name}",
	"home.account":   "Konto",
	"home.role":      "Rolle",
	"home.signed_in": "Angemeldet",
	"home.from":      "{date} von {address}",
	"home.security":  "Anmeldung verwalten",
	"home.apps":      `Apps und Skripte nutzen Carrel mit einem API-Schlüssel. Siehe <a href="{docs}">API-Referenz</a>.`,
	"role.owner":     "Eigentümer",
	"role.admin":     "Administrator",
	"role.member":    "Mitglied",

	"signin.as": "Sie sind als <b>{email}</b> angemeldet. " +
		"Melden Sie sich erneut an, um fortzufahren, oder nutzen Sie ein anderes Konto.",
	"signin.failed":  "E-Mail-Adresse oder Passwort falsch.",
	"signin.passkey": "Mit Passkey anmelden",
	"signin.forgot":  `<a href="{forgot}">Passwort vergessen?</a>`,

	"code.title":   "Code eingeben",
	"code.text":    "Öffnen Sie Ihre Authenticator-App, um den Code zu sehen.",
	"code.another": "Anderes Konto verwenden",

	"connect.title": "Konto verbinden",
	"connect.text": "Es gibt bereits ein Konto mit der Adresse <b>{email}</b>. " +
		"Geben Sie sein Passwort ein, um es mit {provider} zu verbinden.",
	"connect.hint":   "Das ist nur einmal nötig.",
	"connect.button": "Verbinden",
	"connect.foot": `Nicht Ihr Konto? Bitten Sie einen Administrator, dessen E-Mail-Adresse zu berichtigen. ` +
		`<a href="{signin}">Anders anmelden</a>`,

	"setup.title":      "Carrel einrichten",
	"setup.text":       "Erstellen Sie das erste Konto. Ihm gehört diese Installation.",
	"setup.code":       "Einrichtungscode",
	"setup.code_hint":  "Der Server zeigt ihn beim Start an, zum Beispiel <code>7XKM-2QRT-9WPA</code>.",
	"setup.wrong_code": "Falscher Einrichtungscode. Er hat 12 Buchstaben und Ziffern.",
	"setup.name":       "Ihr Name",
	"setup.email_hint": "Damit melden Sie sich an. Es werden keine E\u2011Mails verschickt.",
	"setup.button":     "Konto erstellen",

	"reset.title": "Neues Passwort wählen",
	"reset.text": "Geben Sie den Code ein, den Sie von Ihrem Administrator erhalten haben. " +
		"Er gilt einen Tag und nur einmal.",
	"reset.code_hint": "16 Buchstaben und Ziffern, zum Beispiel <code>7XKM-2QRT-9WPA-4HJD</code>.",
	"reset.wrong_code": "Der Code ist unbekannt, abgelaufen oder schon benutzt. " +
		"Bitten Sie Ihren Administrator um einen neuen.",
	"reset.button":    "Passwort ändern",
	"reset.done":      "Passwort geändert",
	"reset.done_text": "Sie wurden überall abgemeldet. Melden Sie sich mit dem neuen Passwort an.",

	"forgot.title":     "Passwort vergessen?",
	"forgot.text":      "Carrel versendet keine E-Mails. Ein Administrator gibt Ihnen einen Link für ein neues Passwort.",
	"forgot.ask":       "Bitten Sie Ihren Administrator um einen Link zum Zurücksetzen.",
	"forgot.open":      "Öffnen Sie ihn und wählen Sie ein neues Passwort. Er gilt einmal und einen Tag lang.",
	"forgot.sign_in":   "Melden Sie sich mit dem neuen Passwort an. Alle anderen Sitzungen sind beendet.",
	"forgot.have_code": "Ich habe einen Code",
	"forgot.operator": "Sie betreiben diesen Server, oder kein Administrator kann sich anmelden? " +
		"Erstellen Sie auf dem Rechner einen Code:",
	"forgot.command": "carrel admin user reset --user you@example.org",

	"join.title":      "Konto anlegen",
	"join.text":       "Sie wurden zu Carrel eingeladen. Der Link gilt einmal.",
	"join.code":       "Einladungscode",
	"join.wrong_code": "Unbekannte, abgelaufene, widerrufene oder benutzte Einladung. Bitten Sie um eine neue.",
	"join.email_taken": "Diese Adresse hat schon ein Konto. " +
		"Melden Sie sich an oder nutzen Sie eine andere Adresse.",
	"join.other_email": "Diese Einladung gilt für eine andere Adresse. Geben Sie die eingeladene Adresse ein.",
	"join.foot":        `Haben Sie schon ein Konto? <a href="{signin}">Anmelden</a>`,

	"stepup.title": "Identität bestätigen",
	"stepup.text": "Sie sind als <b>{email}</b> angemeldet. " +
		"Bestätigen Sie, dass Sie es sind. Danach werden Sie zehn Minuten lang nicht wieder gefragt.",
	"stepup.button":   "Bestätigen",
	"stepup.upstream": "Erneut mit {provider} anmelden",
	"stepup.none":     `Dieses Konto hat weder Passwort noch Passkey. <a href="{signin}">Melden Sie sich neu an</a>.`,

	"security.title":           "Anmeldung verwalten",
	"security.text":            "Für das Konto <b>{email}</b>.",
	"security.password_hint":   "Mindestens 8 Zeichen. Nach der Änderung sind Sie überall sonst abgemeldet.",
	"security.change_password": "Passwort ändern",
	"security.set_password":    "Passwort festlegen",
	"security.saved":           "Passwort geändert. Sie wurden überall sonst abgemeldet.",
	"security.passkeys":        "Passkeys",
	"security.passkeys_text": "Ohne Passwort anmelden: mit diesem Gerät, " +
		"einem Sicherheitsschlüssel oder Ihrem Passwortmanager.",
	"security.passkeys_none": "Passkeys brauchen HTTPS und einen Hostnamen oder localhost. " +
		"Beides fehlt dieser Adresse.",
	"security.added":        "Hinzugefügt am {added}",
	"security.used":         "Hinzugefügt am {added}, zuletzt benutzt am {used}",
	"security.remove":       "Entfernen",
	"security.remove_named": "Passkey {name} entfernen",
	"security.add_passkey":  "Passkey hinzufügen",
	"security.totp":         "Authenticator-App",
	"security.totp_text":    "Ein zweiter Schritt nach dem Passwort: ein Code aus einer App auf Ihrem Telefon.",
	"security.totp_since":   "Aktiv seit {date}.",
	"security.totp_setup":   "App einrichten",
	"security.totp_off":     "Ausschalten",
	"security.codes_one":    "Noch 1 Wiederherstellungscode.",
	"security.codes_other":  "Noch {count} Wiederherstellungscodes.",
	"security.new_codes":    "Neue Codes",

	"totp.title": "Authenticator\u2011App einrichten",
	"totp.text": "Scannen Sie den QR-Code mit Ihrer App oder geben Sie den Schlüssel ein. " +
		"Geben Sie dann den angezeigten Code ein.",
	"totp.qr":     "QR-Code für die Authenticator-App",
	"totp.key":    "Schlüssel:",
	"totp.hint":   "6 Ziffern.",
	"totp.button": "Einschalten",

	"codes.title": "Wiederherstellungs\u00adcodes sichern",
	"codes.text": "Jeder Code ersetzt die Authenticator-App einmal, etwa wenn Sie Ihr Telefon verlieren. " +
		"Sie werden nicht noch einmal angezeigt: Schreiben Sie sie auf oder speichern Sie sie im Passwortmanager.",
	"codes.button": "Ich habe sie gesichert",

	"passkey.text":         "Ihr Browser fragt gleich nach Ihrem Passkey.",
	"passkey.use_password": "Stattdessen das Passwort verwenden",
	"passkey.add_text": "Er wird auf diesem Gerät, einem Sicherheitsschlüssel oder in Ihrem Passwortmanager " +
		"gespeichert.",
	"passkey.create":      "Passkey erstellen",
	"passkey.name":        "Name",
	"passkey.name_hint":   "Zum Beispiel „Telefon“ oder „Arbeitslaptop“.",
	"passkey.noscript":    "Passkeys brauchen JavaScript, das in diesem Browser ausgeschaltet ist.",
	"passkey.exists":      "Dieses Gerät hat schon einen Passkey für Ihr Konto.",
	"passkey.cancelled":   "Es wurde kein Passkey verwendet. Versuchen Sie es erneut oder gehen Sie zurück.",
	"passkey.unsupported": "Dieser Browser unterstützt keine Passkeys.",

	"leaving.title": "Weiter zu {provider}",
	"leaving.text":  "Melden Sie sich dort an. Danach kommen Sie hierher zurück.",

	"consent.title":      "Darf <bdi>{client}</bdi> auf Ihr Carrel-Konto zugreifen?",
	"consent.head":       "Zugriff erlauben",
	"consent.unverified": "ungeprüft",
	"consent.name":       "Die App hat diesen Namen selbst gewählt; er ist nicht geprüft.",
	"consent.publisher":  `Die Beschreibung stammt von <b class="host">{host}</b>; das ist geprüft.`,
	"consent.redirect":   `Sie werden zu <b class="host">{host}</b> weitergeleitet.`,
	"consent.scopes":     "Die App darf dann",
	"consent.account":    "Konto",
	"consent.deny":       "Ablehnen",
	"consent.allow":      "Erlauben",
	"consent.foot": "Erlauben Sie das nur, wenn Sie es selbst angestoßen haben. " +
		"Sie können es jederzeit widerrufen.",
	"scope.openid":  "Ihr Konto erkennen",
	"scope.profile": "Ihren Namen sehen",
	"scope.email":   "Ihre E-Mail-Adresse sehen",
	"scope.agents": "Ihre Agenten nutzen: Suche, Chat, Erinnerungen und Favoriten. " +
		"Der Verbrauch zählt zu Ihrem Konto.",
	"scope.manage":         "Ihre Agenten und deren Quellen erstellen und bearbeiten",
	"scope.offline_access": "Verbunden bleiben, bis Sie den Zugriff widerrufen",

	"fail.request_id":   "Anfrage-ID",
	"fail.detail":       "Details:",
	"fail.cross_origin": "Anfrage blockiert",
	"fail.cross_origin_text": "Das Formular kam von einer anderen Website. " +
		"Öffnen Sie die Seite hier und versuchen Sie es erneut.",
	"fail.not_found":           "Seite nicht gefunden",
	"fail.not_found_text":      "Unter dieser Adresse gibt es nichts. Prüfen Sie sie auf Tippfehler.",
	"fail.malformed_form":      "Das Formular konnte nicht gelesen werden",
	"fail.malformed_form_text": "Gehen Sie zurück und versuchen Sie es erneut.",
	"fail.unavailable":         "Carrel ist gerade nicht verfügbar",
	"fail.unavailable_text":    "Versuchen Sie es gleich erneut.",
	"fail.internal":            "Etwas ist schiefgegangen",
	"fail.internal_text": "Versuchen Sie es erneut. Wenn das Problem bleibt, " +
		"nennen Sie Ihrem Administrator die Anfrage-ID.",
	"fail.refused":           "Das ist nicht möglich",
	"fail.refused_text":      "{problem}",
	"fail.rate_limited":      "Zu viele Versuche",
	"fail.rate_limited_text": "{problem}",
	"fail.already_set_up":    "Carrel ist schon eingerichtet",
	"fail.already_set_up_text": "Inzwischen wurde ein anderes Konto erstellt. " +
		"Melden Sie sich mit einem bestehenden Konto an.",
	"fail.upstream_refused":      "Anmeldung fehlgeschlagen",
	"fail.upstream_refused_text": "{problem}",
	"fail.upstream_away":         "Der Anmeldedienst antwortet nicht",
	"fail.upstream_away_text":    "Versuchen Sie es gleich erneut oder melden Sie sich mit Ihrem Passwort an.",
	"fail.malformed_request":     "Die Anfrage ist fehlerhaft",
	"fail.malformed_request_text": "Die App, die Sie hierher geschickt hat, hat einen Fehler. " +
		"Versuchen Sie in der App erneut, sich zu verbinden.",
	"fail.unknown_client": "Unbekannte App",
	"fail.unknown_client_text": "Die App ist hier nicht registriert, oder ihre Registrierung ist abgelaufen. " +
		"Entfernen Sie die Verbindung in der App und fügen Sie sie neu hinzu.",
	"fail.client_document":      "Die Beschreibung der App ist unbrauchbar",
	"fail.client_document_text": "Das können nur die Entwickler der App beheben.",
	"fail.redirect_mismatch":    "Falsche Rücksprungadresse",
	"fail.redirect_mismatch_text": "Die App verlangt eine Weiterleitung an eine Adresse, die sie nicht registriert hat. " +
		"Dorthin wurde nichts gesendet. Entfernen Sie die Verbindung in der App und fügen Sie sie neu hinzu.",
	"fail.invalid_request": "Die Anfrage ist ungültig",
	"fail.invalid_request_text": "Es wurde nichts an die App gesendet. " +
		"Aktualisieren Sie die App oder melden Sie diese Seite ihren Entwicklern.",
	"fail.not_signed_in":      "Sie sind nicht angemeldet",
	"fail.not_signed_in_text": "Melden Sie sich zuerst hier an und verbinden Sie sich dann erneut in der App.",
	"fail.page_expired":       "Diese Seite ist abgelaufen",
	"fail.page_expired_text": "Sie wurden abgemeldet, oder die Seite war länger als zehn Minuten offen. " +
		"Verbinden Sie sich erneut in der App.",

	"problem.other":        "Das ist gerade nicht möglich. Laden Sie die Seite neu und versuchen Sie es erneut.",
	"problem.rate_limited": "Zu viele Versuche. Versuchen Sie es in {wait} erneut.",
	"problem.expired":      "Das hat zu lange gedauert oder ist schon erledigt. Beginnen Sie von vorn.",
	"problem.proof_failed": "Dieser Passkey wurde nicht akzeptiert. " +
		"Versuchen Sie es erneut, mit einem anderen oder mit Ihrem Passwort.",
	"problem.upstream_refused": "Der Anbieter hat Ihre Identität nicht bestätigt. Beginnen Sie von vorn.",
	"problem.upstream_unverified": "Der Anbieter hat Ihre E-Mail-Adresse nicht bestätigt. " +
		"Bestätigen Sie sie dort oder melden Sie sich mit Ihrem Passwort an.",
	"problem.upstream_unknown": "Es gibt kein Konto mit Ihrer E-Mail-Adresse. " +
		"Bitten Sie Ihren Administrator um eines.",
	"problem.upstream_disabled": "Dieses Konto ist deaktiviert.",
	"problem.upstream_other": "Das Konto mit Ihrer E-Mail-Adresse ist beim Anbieter mit einer anderen Person verbunden. " +
		"Wenden Sie sich an Ihren Administrator.",
	"field.code":  "Falscher oder schon benutzter Code.",
	"field.email": "Das ist keine gültige E-Mail-Adresse.",
	"field.name":  "Der Name fehlt oder ist zu lang.",
	"field.password": "Das Passwort ist zu kurz oder zu leicht zu erraten. " +
		"Nehmen Sie mindestens 8 Zeichen, am besten mehrere Wörter.",

	"shared.answer":       "Antwort",
	"shared.bibliography": "Literaturverzeichnis",
	"shared.foot": "Antworten schreibt ein KI-Agent, der sich irren kann. " +
		"Prüfen Sie sie anhand der zitierten Werke.",
	"shared.lead":      "Ein Chat, der am {date} geteilt wurde. Er zeigt die Nachrichten von damals.",
	"shared.question":  "Frage",
	"shared.quotes":    "Zitate",
	"shared.refuted":   "Von den Zitaten nicht belegt",
	"shared.uncited":   "Ohne Beleg",
	"shared.work":      "Werk {n}",
	"shared.work_page": "Werk {n}, S. {page}",

	"verdict.quoted":       "zitiert",
	"verdict.supported":    "belegt",
	"verdict.cited":        "mit Beleg, nicht geprüft",
	"verdict.contradicted": "widersprochen",
	"verdict.unsupported":  "nicht belegt",
	"verdict.uncited":      "ohne Beleg",
	"verdict.memory":       "aus einer Erinnerung",
}
