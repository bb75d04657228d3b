package webapp

// frenchTexts are the texts of the pages in French, with the polite address that the web app uses.
var frenchTexts = texts{
	"api_reference": "Référence de l’API",
	"back":          "Retour",
	"code":          "Code",
	"code_hint": "Le code à 6 chiffres de votre application d’authentification, ou un code de " +
		"secours.",
	"continue":       "Continuer",
	"email":          "Adresse e-mail",
	"enter_code":     "Saisissez le code de votre application d’authentification.",
	"enter_email":    "Saisissez votre adresse e-mail.",
	"enter_password": "Saisissez votre mot de passe.",
	"home":           "Aller à Carrel",
	"new_password":   "Nouveau mot de passe",
	"password":       "Mot de passe",
	"password_hint":  "Au moins 8 caractères. Plusieurs mots forment un bon mot de passe.",
	"sign_in":        "Se connecter",
	"sign_in_with":   "Se connecter avec {provider}",
	"sign_out":       "Se déconnecter",
	"use_passkey":    "Utiliser une passkey",
	"wrong_code":     "Code faux ou déjà utilisé. Attendez le prochain et saisissez-le aussitôt.",
	"wrong_password": "Mot de passe incorrect.",

	"date":         "{day} {month} {year}, {time} UTC",
	"month.1":      "janvier",
	"month.2":      "février",
	"month.3":      "mars",
	"month.4":      "avril",
	"month.5":      "mai",
	"month.6":      "juin",
	"month.7":      "juillet",
	"month.8":      "août",
	"month.9":      "septembre",
	"month.10":     "octobre",
	"month.11":     "novembre",
	"month.12":     "décembre",
	"wait.second":  "1 seconde",
	"wait.seconds": "{count} secondes",
	"wait.minutes": "{count} minutes",

	"welcome.title": "Des agents qui connaissent leurs sources",
	"welcome.text": "Cherchez dans vos sources, posez-leur des questions et obtenez des réponses " +
		"avec références.",
	"welcome.setup_text": "Cette installation n’a pas encore de comptes.",
	"welcome.setup":      "Configurer Carrel",

	"home.title":     "Bonjour, {name}",
	"home.account":   "Compte",
	"home.role":      "Rôle",
	"home.signed_in": "Connecté",
	"home.from":      "{date} depuis {address}",
	"home.security":  "Gérer la connexion",
	"home.apps": "Les applications et scripts utilisent Carrel avec une clé API. Voir la <a " +
		"href=\"{docs}\">référence de l’API</a>.",
	"role.owner":  "Propriétaire",
	"role.admin":  "Administrateur",
	"role.member": "Membre",

	"signin.as": "Vous êtes connecté en tant que <b>{email}</b>. Reconnectez-vous pour " +
		"continuer, ou utilisez un autre compte.",
	"signin.failed":  "Adresse e-mail ou mot de passe incorrect.",
	"signin.passkey": "Se connecter avec une passkey",
	"signin.forgot":  "<a href=\"{forgot}\">Mot de passe oublié\u202f?</a>",

	"code.title":   "Saisissez votre code",
	"code.text":    "Ouvrez votre application d’authentification pour voir le code.",
	"code.another": "Utiliser un autre compte",

	"connect.title": "Associer votre compte",
	"connect.text": "Un compte avec l’adresse <b>{email}</b> existe déjà. Saisissez son mot de " +
		"passe pour l’associer à {provider}.",
	"connect.hint":   "Cela n’est nécessaire qu’une fois.",
	"connect.button": "Associer",
	"connect.foot": "Ce n’est pas votre compte\u202f? Demandez à un administrateur de corriger son " +
		"adresse e-mail. <a href=\"{signin}\">Se connecter autrement</a>",

	"setup.title":      "Configurer Carrel",
	"setup.text":       "Créez le premier compte. Cette installation lui appartient.",
	"setup.code":       "Code de configuration",
	"setup.code_hint":  "Le serveur l’affiche au démarrage, par exemple <code>7XKM-2QRT-9WPA</code>.",
	"setup.wrong_code": "Code de configuration incorrect. Il compte 12 lettres et chiffres.",
	"setup.name":       "Votre nom",
	"setup.email_hint": "Vous vous connectez avec cette adresse. Aucun e-mail n’y est envoyé.",
	"setup.button":     "Créer le compte",

	"reset.title": "Choisir un nouveau mot de passe",
	"reset.text": "Saisissez le code reçu de votre administrateur. Il est valable un jour et une " +
		"seule fois.",
	"reset.code_hint": "16 lettres et chiffres, par exemple <code>7XKM-2QRT-9WPA-4HJD</code>.",
	"reset.wrong_code": "Code inconnu, expiré ou déjà utilisé. Demandez-en un nouveau à votre " +
		"administrateur.",
	"reset.button": "Changer le mot de passe",
	"reset.done":   "Mot de passe modifié",
	"reset.done_text": "Vous avez été déconnecté partout. Connectez-vous avec votre nouveau mot de " +
		"passe.",

	"stepup.title": "Confirmez votre identité",
	"stepup.text": "Vous êtes connecté en tant que <b>{email}</b>. Confirmez pour continuer. Vous " +
		"n’aurez pas à le refaire pendant dix minutes.",
	"stepup.button":   "Confirmer",
	"stepup.upstream": "Se reconnecter avec {provider}",
	"stepup.none": "Ce compte n’a ni mot de passe ni passkey. <a " +
		"href=\"{signin}\">Reconnectez-vous</a>.",

	"security.title":           "Gérer la connexion",
	"security.text":            "Pour le compte <b>{email}</b>.",
	"security.password_hint":   "Au moins 8 caractères. Le changement vous déconnecte partout ailleurs.",
	"security.change_password": "Changer le mot de passe",
	"security.set_password":    "Définir un mot de passe",
	"security.saved":           "Mot de passe modifié. Vous avez été déconnecté partout ailleurs.",
	"security.passkeys":        "Passkeys",
	"security.passkeys_text": "Connectez-vous sans mot de passe, avec cet appareil, une clé de sécurité ou " +
		"votre gestionnaire de mots de passe.",
	"security.passkeys_none": "Les passkeys demandent HTTPS et un nom d’hôte, ou localhost. Cette adresse " +
		"n’a ni l’un ni l’autre.",
	"security.added":        "Ajoutée le {added}",
	"security.used":         "Ajoutée le {added}, dernière utilisation le {used}",
	"security.remove":       "Retirer",
	"security.remove_named": "Retirer la passkey {name}",
	"security.add_passkey":  "Ajouter une passkey",
	"security.totp":         "Application d’authentification",
	"security.totp_text": "Une seconde étape après le mot de passe\u00a0: un code d’une application de votre " +
		"téléphone.",
	"security.totp_since":  "Active depuis le {date}.",
	"security.totp_setup":  "Configurer une application",
	"security.totp_off":    "Désactiver",
	"security.codes_one":   "Il reste 1 code de secours.",
	"security.codes_other": "Il reste {count} codes de secours.",
	"security.new_codes":   "Nouveaux codes",

	"totp.title": "Configurer une application d’authentification",
	"totp.text": "Scannez le code QR avec votre application, ou saisissez la clé. Saisissez " +
		"ensuite le code que l’application affiche.",
	"totp.qr":     "Code QR pour l’application d’authentification",
	"totp.key":    "Clé\u00a0:",
	"totp.hint":   "6 chiffres.",
	"totp.button": "Activer",

	"codes.title": "Conservez vos codes de secours",
	"codes.text": "Chaque code remplace une fois votre application d’authentification, par " +
		"exemple si vous perdez votre téléphone. Ils ne seront plus affichés\u00a0: " +
		"notez-les ou enregistrez-les dans votre gestionnaire de mots de passe.",
	"codes.button": "Je les ai conservés",

	"passkey.text":         "Votre navigateur va demander votre passkey.",
	"passkey.use_password": "Utiliser plutôt votre mot de passe",
	"passkey.add_text": "Elle est enregistrée sur cet appareil, sur une clé de sécurité ou dans votre " +
		"gestionnaire de mots de passe.",
	"passkey.create":      "Créer la passkey",
	"passkey.name":        "Nom",
	"passkey.name_hint":   "Par exemple «\u00a0Téléphone\u00a0» ou «\u00a0Portable du travail\u00a0».",
	"passkey.noscript":    "Les passkeys demandent JavaScript, qui est désactivé dans ce navigateur.",
	"passkey.exists":      "Cet appareil a déjà une passkey pour votre compte.",
	"passkey.cancelled":   "Aucune passkey n’a été utilisée. Réessayez, ou revenez en arrière.",
	"passkey.unsupported": "Ce navigateur ne prend pas en charge les passkeys.",

	"leaving.title": "Continuer vers {provider}",
	"leaving.text":  "Connectez-vous là-bas. Vous reviendrez ensuite ici.",

	"consent.title":      "Autoriser <bdi>{client}</bdi> à accéder à votre compte Carrel\u202f?",
	"consent.head":       "Autoriser l’accès",
	"consent.unverified": "non vérifié",
	"consent.name":       "L’application a choisi ce nom\u202f; il n’est pas vérifié.",
	"consent.publisher":  "Sa description vient de <b class=\"host\">{host}</b>, ce qui est vérifié.",
	"consent.redirect":   "Vous serez redirigé vers <b class=\"host\">{host}</b>.",
	"consent.scopes":     "Cette application pourra",
	"consent.account":    "Compte",
	"consent.deny":       "Refuser",
	"consent.allow":      "Autoriser",
	"consent.foot": "N’autorisez l’accès que si vous l’avez demandé vous-même. Vous pouvez le " +
		"révoquer à tout moment.",
	"scope.openid":  "Identifier votre compte",
	"scope.profile": "Voir votre nom",
	"scope.email":   "Voir votre adresse e-mail",
	"scope.agents": "Utiliser vos agents\u00a0: recherche, discussions, souvenirs et favoris. La " +
		"consommation compte pour votre compte.",
	"scope.manage":         "Créer et modifier vos agents et leurs sources",
	"scope.offline_access": "Rester connectée jusqu’à ce que vous révoquiez l’accès",

	"fail.request_id":        "ID de la requête",
	"fail.detail":            "Détails\u00a0:",
	"fail.cross_origin":      "Requête bloquée",
	"fail.cross_origin_text": "Le formulaire venait d’un autre site. Ouvrez la page sur ce site et réessayez.",
	"fail.not_found":         "Page introuvable",
	"fail.not_found_text": "Il n’y a rien à cette adresse. Vérifiez qu’elle ne contient pas de faute de " +
		"frappe.",
	"fail.malformed_form":      "Le formulaire n’a pas pu être lu",
	"fail.malformed_form_text": "Revenez en arrière et réessayez.",
	"fail.unavailable":         "Carrel est momentanément indisponible",
	"fail.unavailable_text":    "Réessayez dans un instant.",
	"fail.internal":            "Une erreur s’est produite",
	"fail.internal_text": "Réessayez. Si le problème persiste, donnez l’ID de la requête à votre " +
		"administrateur.",
	"fail.refused":           "Ce n’est pas possible",
	"fail.refused_text":      "{problem}",
	"fail.rate_limited":      "Trop de tentatives",
	"fail.rate_limited_text": "{problem}",
	"fail.already_set_up":    "Carrel est déjà configuré",
	"fail.already_set_up_text": "Un autre compte a été créé entre-temps. Connectez-vous avec un compte " +
		"existant.",
	"fail.upstream_refused":      "Échec de la connexion",
	"fail.upstream_refused_text": "{problem}",
	"fail.upstream_away":         "Le service de connexion ne répond pas",
	"fail.upstream_away_text":    "Réessayez dans un instant, ou connectez-vous avec votre mot de passe.",
	"fail.malformed_request":     "La requête est mal formée",
	"fail.malformed_request_text": "L’application qui vous a envoyé ici contient une erreur. Réessayez de vous " +
		"connecter depuis l’application.",
	"fail.unknown_client": "Application inconnue",
	"fail.unknown_client_text": "L’application n’est pas enregistrée ici, ou son enregistrement a expiré. " +
		"Retirez la connexion dans l’application et ajoutez-la de nouveau.",
	"fail.client_document":      "La description de l’application est inutilisable",
	"fail.client_document_text": "Seuls les développeurs de l’application peuvent y remédier.",
	"fail.redirect_mismatch":    "Adresse de redirection incorrecte",
	"fail.redirect_mismatch_text": "L’application demande une redirection vers une adresse qu’elle n’a pas " +
		"enregistrée. Rien n’y a été envoyé. Retirez la connexion dans l’application " +
		"et ajoutez-la de nouveau.",
	"fail.invalid_request": "La requête n’est pas valide",
	"fail.invalid_request_text": "Rien n’a été envoyé à l’application. Mettez l’application à jour, ou signalez " +
		"cette page à ses développeurs.",
	"fail.not_signed_in":      "Vous n’êtes pas connecté",
	"fail.not_signed_in_text": "Connectez-vous d’abord ici, puis reconnectez-vous depuis l’application.",
	"fail.page_expired":       "Cette page a expiré",
	"fail.page_expired_text": "Vous avez été déconnecté, ou la page est restée ouverte plus de dix minutes. " +
		"Reconnectez-vous depuis l’application.",

	"problem.other":        "Ce n’est pas possible pour le moment. Rechargez la page et réessayez.",
	"problem.rate_limited": "Trop de tentatives. Réessayez dans {wait}.",
	"problem.expired":      "Cela a pris trop de temps ou est déjà terminé. Recommencez.",
	"problem.proof_failed": "Cette passkey n’a pas été acceptée. Réessayez, utilisez-en une autre, ou " +
		"connectez-vous avec votre mot de passe.",
	"problem.upstream_refused": "Le fournisseur n’a pas confirmé votre identité. Recommencez.",
	"problem.upstream_unverified": "Le fournisseur n’a pas vérifié votre adresse e-mail. Faites-la vérifier, ou " +
		"connectez-vous avec votre mot de passe.",
	"problem.upstream_unknown":  "Aucun compte n’a votre adresse e-mail. Demandez-en un à votre administrateur.",
	"problem.upstream_disabled": "Ce compte est désactivé.",
	"problem.upstream_other": "Le compte avec votre adresse e-mail est associé à une autre personne chez le " +
		"fournisseur. Adressez-vous à votre administrateur.",
	"field.code":  "Code faux ou déjà utilisé.",
	"field.email": "Ce n’est pas une adresse e-mail valide.",
	"field.name":  "Le nom manque ou est trop long.",
	"field.password": "Le mot de passe est trop court ou trop facile à deviner. Prenez au moins 8 " +
		"caractères, de préférence plusieurs mots.",

	"forgot.title": "Mot de passe oublié\u202f?",
	"forgot.text": "Carrel n’envoie pas d’e-mails. Un administrateur vous donne un lien pour " +
		"choisir un nouveau mot de passe.",
	"forgot.ask": "Demandez un lien de réinitialisation à votre administrateur.",
	"forgot.open": "Ouvrez-le et choisissez un nouveau mot de passe. Il fonctionne une fois, " +
		"pendant un jour.",
	"forgot.sign_in": "Connectez-vous avec le nouveau mot de passe. Toutes les autres sessions sont " +
		"fermées.",
	"forgot.have_code": "J’ai un code de réinitialisation",
	"forgot.operator": "Vous gérez ce serveur, ou aucun administrateur ne peut se connecter\u202f? Créez " +
		"un code sur la machine\u00a0:",
	"forgot.command": "carrel admin user reset --user vous@example.org",

	"join.title": "Créez votre compte",
	"join.text":  "Vous êtes invité à utiliser Carrel. Le lien fonctionne une fois.",
	"join.code":  "Code d’invitation",
	"join.wrong_code": "Invitation inconnue, expirée, révoquée ou déjà utilisée. Demandez-en une " +
		"nouvelle à votre administrateur.",
	"join.email_taken": "Cette adresse a déjà un compte. Connectez-vous, ou utilisez une autre adresse.",
	"join.other_email": "Cette invitation est destinée à une autre adresse. Saisissez celle à laquelle " +
		"elle a été envoyée.",
	"join.foot": "Vous avez déjà un compte\u202f? <a href=\"{signin}\">Se connecter</a>",

	"shared.answer":       "Réponse",
	"shared.bibliography": "Bibliographie",
	"shared.foot": "Les réponses sont écrites par un agent d’IA et peuvent contenir des erreurs. " +
		"Vérifiez-les dans les œuvres citées.",
	"shared.lead":      "Une discussion partagée le {date}. Elle montre les messages de ce moment.",
	"shared.question":  "Question",
	"shared.quotes":    "Extraits",
	"shared.refuted":   "Non étayé par les extraits cités",
	"shared.uncited":   "Sans référence",
	"shared.work":      "Œuvre {n}",
	"shared.work_page": "Œuvre {n}, p. {page}",

	"verdict.quoted":       "cité",
	"verdict.supported":    "étayé",
	"verdict.cited":        "référencé, non jugé",
	"verdict.contradicted": "contredit",
	"verdict.unsupported":  "non étayé",
	"verdict.uncited":      "sans référence",
	"verdict.memory":       "d’un souvenir",
}
