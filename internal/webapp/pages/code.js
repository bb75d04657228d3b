// Fills in the code of a link such as /join#7XKM-2QRT-9WPA-4HJD, and removes it from the address bar and the history.
// Browsers do not send the part behind the # to any server. Without this script, the code is typed.
"use strict";

const code = document.getElementById("code");
const linked = decodeURIComponent(location.hash.slice(1));
if (code && /^[0-9A-Za-z-]{8,30}$/.test(linked)) {
  code.value = linked;
  history.replaceState(null, "", location.pathname + location.search);
  const next = [...document.querySelectorAll("form.panel input")].find((field) => !field.value);
  if (next) next.focus();
}
