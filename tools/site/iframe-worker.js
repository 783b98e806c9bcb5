// Browsers start no worker from a file. If the site is opened as a file, its search runs in a hidden frame with the
// interface of a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessage = (data) => window.postMessage({ from: String(url), data }, "*");
      this.scope.importScripts = (...urls) => Promise.all(urls.map((one) => this.load(one)));
      window.addEventListener("message", (event) => {
        if (event.data?.from === String(url)) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data.data }));
        }
      });
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((loaded, failed) => {
        const script = this.scope.document.createElement("script");
        script.src = url;
        script.onload = loaded;
        script.onerror = failed;
        this.scope.document.documentElement.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
