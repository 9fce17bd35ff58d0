// What the pages of the console do without asking the server.
function svCookie(name, value) {
  document.cookie = name + "=" + encodeURIComponent(value) + "; path=/; max-age=31536000; samesite=lax";
}

// The browser tells its time zone, so that every page but its very first is in it from the start.
svCookie("zone", Intl.DateTimeFormat().resolvedOptions().timeZone + "|" + -new Date().getTimezoneOffset());

// Exchange the ticket of a sign-in for a cookie, and go on.
function svEnter(ticket, then) {
  fetch("/session", { method: "POST", body: ticket }).then(() => location.replace(then));
}

// A log: text is added at its end, what is beyond its bound is dropped at its beginning.
const SV_LOG_CHARACTERS = 200000;

function svLogOf(id) {
  return document.querySelector("#" + id + " pre");
}

function svLog(id, text) {
  const log = svLogOf(id);
  if (!log) return;
  const near = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(text);
  let length = log.textContent.length;
  while (length > SV_LOG_CHARACTERS && log.childNodes.length > 1) {
    length -= log.firstChild.textContent.length;
    log.firstChild.remove();
  }
  if (log.dataset.follow !== "no" && (near || log.dataset.follow === "yes")) log.scrollTop = log.scrollHeight;
}

function svLogClear(id) {
  const log = svLogOf(id);
  if (log) log.textContent = "";
}

function svLogFollow(id, follow) {
  const log = svLogOf(id);
  if (!log) return;
  log.dataset.follow = follow ? "yes" : "no";
  if (follow) log.scrollTop = log.scrollHeight;
}
