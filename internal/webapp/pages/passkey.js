// Creates or uses a passkey and submits the result with the page's form. This is the only script of the sign-in pages:
// it calls the authenticator and sends no requests. Its messages are data attributes of the form, in the page's
// language.
"use strict";

const form = document.querySelector("form[data-ceremony]");
const trouble = document.getElementById("trouble");

// Binary values are base64url (WebAuthn 3, 5.1.8). The browser functions that convert them are too new to rely on.
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

function options() {
  const o = JSON.parse(form.dataset.options);
  o.challenge = bytes(o.challenge);
  if (o.user) o.user.id = bytes(o.user.id);
  for (const list of [o.allowCredentials, o.excludeCredentials]) {
    for (const c of list ?? []) c.id = bytes(c.id);
  }
  return o;
}

function answer(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  if (credential.response.getTransports) response.transports = credential.response.getTransports();
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response,
  });
}

let busy = false;

async function run() {
  if (busy) return;
  busy = true;
  trouble.hidden = true;
  try {
    const publicKey = options();
    const credential = form.dataset.ceremony === "create"
      ? await navigator.credentials.create({ publicKey })
      : await navigator.credentials.get({ publicKey });
    form.elements.answer.value = answer(credential);
    form.submit();
  } catch (error) {
    trouble.textContent = error.name === "InvalidStateError" ? form.dataset.exists : form.dataset.cancelled;
    trouble.hidden = false;
    busy = false;
  }
}

if (!window.PublicKeyCredential) {
  trouble.textContent = form.dataset.unsupported;
  trouble.hidden = false;
} else {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  // A new passkey needs a name first; an existing one is requested immediately.
  if (form.dataset.ceremony === "get") run();
}
