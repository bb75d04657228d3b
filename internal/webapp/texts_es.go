package webapp

// spanishTexts are the texts of the pages in Spanish, with the familiar address that the web app uses.
var spanishTexts = texts{
	"api_reference": "Referencia de la API",
	"back":          "Atrás",
	"code":          "Código",
	"code_hint": "El código de 6 cifras de tu aplicación de autenticación, o un código de " +
		"recuperación.",
	"continue":       "Continuar",
	"email":          "Correo electrónico",
	"enter_code":     "Escribe el código de tu aplicación de autenticación.",
	"enter_email":    "Escribe tu correo electrónico.",
	"enter_password": "Escribe tu contraseña.",
	"home":           "Ir a Carrel",
	"new_password":   "Nueva contraseña",
	"password":       "Contraseña",
	"password_hint":  "Al menos 8 caracteres. Varias palabras forman una buena contraseña.",
	"sign_in":        "Iniciar sesión",
	"sign_in_with":   "Iniciar sesión con {provider}",
	"sign_out":       "Cerrar sesión",
	"use_passkey":    "Usar una llave de acceso",
	"wrong_code":     "Código incorrecto o ya usado. Espera al siguiente y escríbelo enseguida.",
	"wrong_password": "Contraseña incorrecta.",

	"date":         "{day} de {month} de {year}, {time} UTC",
	"month.1":      "enero",
	"month.2":      "febrero",
	"month.3":      "marzo",
	"month.4":      "abril",
	"month.5":      "mayo",
	"month.6":      "junio",
	"month.7":      "julio",
	"month.8":      "agosto",
	"month.9":      "septiembre",
	"month.10":     "octubre",
	"month.11":     "noviembre",
	"month.12":     "diciembre",
	"wait.second":  "1 segundo",
	"wait.seconds": "{count} segundos",
	"wait.minutes": "{count} minutos",

	"welcome.title":      "Agentes que conocen sus fuentes",
	"welcome.text":       "Busca en tus fuentes, hazles preguntas y obtén respuestas con referencias.",
	"welcome.setup_text": "Esta instalación aún no tiene cuentas.",
	"welcome.setup":      "Configurar Carrel",

	"home.title":     "Hola, {name}",
	"home.account":   "Cuenta",
	"home.role":      "Rol",
	"home.signed_in": "Sesión iniciada",
	"home.from":      "{date} desde {address}",
	"home.security":  "Gestionar el inicio de sesión",
	"home.apps": "Las aplicaciones y los scripts usan Carrel con una clave de API. Consulta la " +
		"<a href=\"{docs}\">referencia de la API</a>.",
	"role.owner":  "Propietario",
	"role.admin":  "Administrador",
	"role.member": "Miembro",

	"signin.as": "Has iniciado sesión como <b>{email}</b>. Inicia sesión de nuevo para " +
		"continuar, o usa otra cuenta.",
	"signin.failed":  "Correo electrónico o contraseña incorrectos.",
	"signin.passkey": "Iniciar sesión con una llave de acceso",
	"signin.forgot":  "<a href=\"{forgot}\">¿Olvidaste tu contraseña?</a>",

	"code.title":   "Escribe tu código",
	"code.text":    "Abre tu aplicación de autenticación para ver el código.",
	"code.another": "Usar otra cuenta",

	"connect.title": "Vincular tu cuenta",
	"connect.text": "Ya existe una cuenta con la dirección <b>{email}</b>. Escribe su contraseña " +
		"para vincularla con {provider}.",
	"connect.hint":   "Solo hace falta una vez.",
	"connect.button": "Vincular",
	"connect.foot": "¿No es tu cuenta? Pide a un administrador que corrija su correo electrónico. " +
		"<a href=\"{signin}\">Iniciar sesión de otra forma</a>",

	"setup.title":      "Configurar Carrel",
	"setup.text":       "Crea la primera cuenta. Será la propietaria de esta instalación.",
	"setup.code":       "Código de configuración",
	"setup.code_hint":  "El servidor lo muestra al iniciar, por ejemplo <code>7XKM-2QRT-9WPA</code>.",
	"setup.wrong_code": "Código de configuración incorrecto. Tiene 12 letras y cifras.",
	"setup.name":       "Tu nombre",
	"setup.email_hint": "Inicias sesión con esta dirección. No se le envían correos.",
	"setup.button":     "Crear la cuenta",

	"reset.title":      "Elegir una contraseña nueva",
	"reset.text":       "Escribe el código que te dio tu administrador. Vale un día y una sola vez.",
	"reset.code_hint":  "16 letras y cifras, por ejemplo <code>7XKM-2QRT-9WPA-4HJD</code>.",
	"reset.wrong_code": "Código desconocido, caducado o ya usado. Pide uno nuevo a tu administrador.",
	"reset.button":     "Cambiar la contraseña",
	"reset.done":       "Contraseña cambiada",
	"reset.done_text":  "Se cerró tu sesión en todas partes. Inicia sesión con tu contraseña nueva.",

	"stepup.title": "Confirma que eres tú",
	"stepup.text": "Has iniciado sesión como <b>{email}</b>. Confirma para continuar. No se te " +
		"volverá a pedir durante diez minutos.",
	"stepup.button":   "Confirmar",
	"stepup.upstream": "Iniciar sesión de nuevo con {provider}",
	"stepup.none": "Esta cuenta no tiene contraseña ni llave de acceso. <a href=\"{signin}\">Inicia " +
		"sesión de nuevo</a>.",

	"security.title":           "Gestionar el inicio de sesión",
	"security.text":            "Para la cuenta <b>{email}</b>.",
	"security.password_hint":   "Al menos 8 caracteres. Al cambiarla, se cierran tus demás sesiones.",
	"security.change_password": "Cambiar la contraseña",
	"security.set_password":    "Crear una contraseña",
	"security.saved":           "Contraseña cambiada. Se cerraron tus demás sesiones.",
	"security.passkeys":        "Llaves de acceso",
	"security.passkeys_text": "Inicia sesión sin contraseña, con este dispositivo, una llave de seguridad o " +
		"tu gestor de contraseñas.",
	"security.passkeys_none": "Las llaves de acceso requieren HTTPS y un nombre de host, o localhost. Esta " +
		"dirección no tiene ninguno de los dos.",
	"security.added":        "Añadida el {added}",
	"security.used":         "Añadida el {added}, último uso el {used}",
	"security.remove":       "Quitar",
	"security.remove_named": "Quitar la llave de acceso {name}",
	"security.add_passkey":  "Añadir una llave de acceso",
	"security.totp":         "Aplicación de autenticación",
	"security.totp_text": "Un segundo paso tras la contraseña: un código de una aplicación de tu " +
		"teléfono.",
	"security.totp_since":  "Activa desde el {date}.",
	"security.totp_setup":  "Configurar una aplicación",
	"security.totp_off":    "Desactivar",
	"security.codes_one":   "Queda 1 código de recuperación.",
	"security.codes_other": "Quedan {count} códigos de recuperación.",
	"security.new_codes":   "Códigos nuevos",

	"totp.title": "Configurar una aplicación de autenticación",
	"totp.text": "Escanea el código QR con tu aplicación, o escribe la clave. Después escribe " +
		"el código que muestra la aplicación.",
	"totp.qr":     "Código QR para la aplicación de autenticación",
	"totp.key":    "Clave:",
	"totp.hint":   "6 cifras.",
	"totp.button": "Activar",

	"codes.title": "Guarda tus códigos de recuperación",
	"codes.text": "Cada código sustituye una vez a tu aplicación de autenticación, por ejemplo " +
		"si pierdes el teléfono. No se vuelven a mostrar: apúntalos o guárdalos en tu " +
		"gestor de contraseñas.",
	"codes.button": "Los he guardado",

	"passkey.text":         "Tu navegador te pedirá la llave de acceso.",
	"passkey.use_password": "Usar la contraseña",
	"passkey.add_text": "Se guarda en este dispositivo, en una llave de seguridad o en tu gestor de " +
		"contraseñas.",
	"passkey.create":    "Crear la llave de acceso",
	"passkey.name":      "Nombre",
	"passkey.name_hint": "Por ejemplo «Teléfono» o «Portátil del trabajo».",
	"passkey.noscript": "Las llaves de acceso requieren JavaScript, que está desactivado en este " +
		"navegador.",
	"passkey.exists":      "Este dispositivo ya tiene una llave de acceso para tu cuenta.",
	"passkey.cancelled":   "No se usó ninguna llave de acceso. Inténtalo de nuevo, o vuelve atrás.",
	"passkey.unsupported": "Este navegador no admite llaves de acceso.",

	"leaving.title": "Continuar a {provider}",
	"leaving.text":  "Inicia sesión allí. Después volverás aquí.",

	"consent.title":      "¿Permitir que <bdi>{client}</bdi> acceda a tu cuenta de Carrel?",
	"consent.head":       "Permitir el acceso",
	"consent.unverified": "sin verificar",
	"consent.name":       "La aplicación eligió este nombre; no está verificado.",
	"consent.publisher":  "Su descripción procede de <b class=\"host\">{host}</b>; eso está verificado.",
	"consent.redirect":   "Se te redirigirá a <b class=\"host\">{host}</b>.",
	"consent.scopes":     "Esta aplicación podrá",
	"consent.account":    "Cuenta",
	"consent.deny":       "Denegar",
	"consent.allow":      "Permitir",
	"consent.foot": "Permite el acceso solo si lo iniciaste tú. Puedes revocarlo en cualquier " +
		"momento.",
	"scope.openid":  "Identificar tu cuenta",
	"scope.profile": "Ver tu nombre",
	"scope.email":   "Ver tu correo electrónico",
	"scope.agents": "Usar tus agentes: búsqueda, chats, recuerdos y favoritos. El consumo cuenta " +
		"para tu cuenta.",
	"scope.manage":         "Crear y editar tus agentes y sus fuentes",
	"scope.offline_access": "Seguir conectada hasta que revoques el acceso",

	"fail.request_id":   "ID de la solicitud",
	"fail.detail":       "Detalles:",
	"fail.cross_origin": "Solicitud bloqueada",
	"fail.cross_origin_text": "El formulario venía de otro sitio. Abre la página en este sitio e inténtalo " +
		"de nuevo.",
	"fail.not_found":           "Página no encontrada",
	"fail.not_found_text":      "No hay nada en esta dirección. Comprueba que no tenga errores.",
	"fail.malformed_form":      "No se pudo leer el formulario",
	"fail.malformed_form_text": "Vuelve atrás e inténtalo de nuevo.",
	"fail.unavailable":         "Carrel no está disponible en este momento",
	"fail.unavailable_text":    "Inténtalo de nuevo en un momento.",
	"fail.internal":            "Algo falló",
	"fail.internal_text": "Inténtalo de nuevo. Si el problema continúa, envía el ID de la solicitud a tu " +
		"administrador.",
	"fail.refused":               "Esto no es posible",
	"fail.refused_text":          "{problem}",
	"fail.rate_limited":          "Demasiados intentos",
	"fail.rate_limited_text":     "{problem}",
	"fail.already_set_up":        "Carrel ya está configurado",
	"fail.already_set_up_text":   "Mientras tanto se creó otra cuenta. Inicia sesión con una cuenta existente.",
	"fail.upstream_refused":      "Inicio de sesión fallido",
	"fail.upstream_refused_text": "{problem}",
	"fail.upstream_away":         "El servicio de inicio de sesión no responde",
	"fail.upstream_away_text":    "Inténtalo de nuevo en un momento, o inicia sesión con tu contraseña.",
	"fail.malformed_request":     "La solicitud está mal formada",
	"fail.malformed_request_text": "La aplicación que te envió aquí tiene un error. Intenta conectarte de nuevo " +
		"desde la aplicación.",
	"fail.unknown_client": "Aplicación desconocida",
	"fail.unknown_client_text": "La aplicación no está registrada aquí, o su registro caducó. Quita la " +
		"conexión en la aplicación y añádela de nuevo.",
	"fail.client_document":      "La descripción de la aplicación no se puede usar",
	"fail.client_document_text": "Solo los desarrolladores de la aplicación pueden arreglarlo.",
	"fail.redirect_mismatch":    "Dirección de redirección incorrecta",
	"fail.redirect_mismatch_text": "La aplicación pidió una redirección a una dirección que no ha registrado. No " +
		"se envió nada allí. Quita la conexión en la aplicación y añádela de nuevo.",
	"fail.invalid_request": "La solicitud no es válida",
	"fail.invalid_request_text": "No se envió nada a la aplicación. Actualiza la aplicación, o informa de esta " +
		"página a sus desarrolladores.",
	"fail.not_signed_in":      "No has iniciado sesión",
	"fail.not_signed_in_text": "Primero inicia sesión aquí y después conéctate de nuevo desde la aplicación.",
	"fail.page_expired":       "Esta página ha caducado",
	"fail.page_expired_text": "Se cerró tu sesión, o la página estuvo abierta más de diez minutos. Conéctate " +
		"de nuevo desde la aplicación.",

	"problem.other":        "Esto no es posible ahora. Recarga la página e inténtalo de nuevo.",
	"problem.rate_limited": "Demasiados intentos. Inténtalo de nuevo en {wait}.",
	"problem.expired":      "Tardó demasiado o ya se completó. Empieza de nuevo.",
	"problem.proof_failed": "No se aceptó esta llave de acceso. Inténtalo de nuevo, usa otra, o inicia " +
		"sesión con tu contraseña.",
	"problem.upstream_refused": "El proveedor no confirmó tu identidad. Empieza de nuevo.",
	"problem.upstream_unverified": "El proveedor no ha verificado tu correo electrónico. Verifícalo allí, o " +
		"inicia sesión con tu contraseña.",
	"problem.upstream_unknown":  "No hay ninguna cuenta con tu correo electrónico. Pide una a tu administrador.",
	"problem.upstream_disabled": "Esta cuenta está desactivada.",
	"problem.upstream_other": "La cuenta con tu correo electrónico está vinculada a otra persona en el " +
		"proveedor. Consulta a tu administrador.",
	"field.code":  "Código incorrecto o ya usado.",
	"field.email": "No es un correo electrónico válido.",
	"field.name":  "Falta el nombre o es demasiado largo.",
	"field.password": "La contraseña es demasiado corta o fácil de adivinar. Usa al menos 8 " +
		"caracteres, mejor varias palabras.",

	"forgot.title": "¿Olvidaste tu contraseña?",
	"forgot.text": "Carrel no envía correos. Un administrador te da un enlace para elegir una " +
		"contraseña nueva.",
	"forgot.ask":       "Pide un enlace de restablecimiento a tu administrador.",
	"forgot.open":      "Ábrelo y elige una contraseña nueva. Funciona una vez, durante un día.",
	"forgot.sign_in":   "Inicia sesión con la contraseña nueva. Todas las demás sesiones han terminado.",
	"forgot.have_code": "Tengo un código de restablecimiento",
	"forgot.operator": "¿Gestionas este servidor, o ningún administrador puede iniciar sesión? Crea " +
		"un código en la máquina:",
	"forgot.command": "carrel admin user reset --user tu@example.org",

	"join.title": "Crea tu cuenta",
	"join.text":  "Te han invitado a Carrel. El enlace funciona una vez.",
	"join.code":  "Código de invitación",
	"join.wrong_code": "Invitación desconocida, caducada, revocada o ya usada. Pide una nueva a tu " +
		"administrador.",
	"join.email_taken": "Esta dirección ya tiene una cuenta. Inicia sesión, o usa otra dirección.",
	"join.other_email": "Esta invitación es para otra dirección. Escribe aquella a la que se envió.",
	"join.foot":        "¿Ya tienes una cuenta? <a href=\"{signin}\">Iniciar sesión</a>",

	"shared.answer":       "Respuesta",
	"shared.bibliography": "Bibliografía",
	"shared.foot": "Las respuestas las escribe un agente de IA y pueden contener errores. " +
		"Compruébalas en las obras citadas.",
	"shared.lead":      "Un chat compartido el {date}. Muestra los mensajes de ese momento.",
	"shared.question":  "Pregunta",
	"shared.quotes":    "Fragmentos",
	"shared.refuted":   "Sin respaldo en los fragmentos citados",
	"shared.uncited":   "Sin referencia",
	"shared.work":      "Obra {n}",
	"shared.work_page": "Obra {n}, p. {page}",

	"verdict.quoted":       "citada",
	"verdict.supported":    "respaldada",
	"verdict.cited":        "con referencia, sin juzgar",
	"verdict.contradicted": "contradicha",
	"verdict.unsupported":  "sin respaldo",
	"verdict.uncited":      "sin referencia",
	"verdict.memory":       "de un recuerdo",
}
