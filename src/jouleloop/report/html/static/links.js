"use strict";
// A link to every point: the address of the page with the names of sweep, architecture and layer.
(() => {
  const KEY = "#point=";

  JL.address = (sweep, group, index) =>
    KEY + [sweep.name, JL.label(sweep, group), group.layers[index]].map(encodeURIComponent).join("/");

  // The names in an address; null where it is no point's. A layer that somebody typed may have slashes.
  JL.named = (address) => {
    if (!address.startsWith(KEY)) return null;
    const [sweep, group, ...layer] = address.slice(KEY.length).split("/");
    try { return [sweep, group ?? "", layer.join("/")].map(decodeURIComponent); } catch { return null; }
  };

  // The address bar follows the selected point, so that it can be copied from there.
  JL.link = (sweep, group, index) => {
    try { history.replaceState(null, "", JL.address(sweep, group, index)); } catch { /* a page in a sandbox keeps its address */ }
  };
})();
