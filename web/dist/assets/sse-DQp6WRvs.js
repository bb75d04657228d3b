import{o as e}from"./resource.svelte-B46UeJM2.js";var t=class{#e=``;feed(e){let t=[];this.#e+=e;for(let e=this.#e.indexOf(`

`);e>=0;e=this.#e.indexOf(`

`)){let r={id:``,event:`message`,data:``};for(let t of this.#e.slice(0,e).split(`
`)){let[e=``,i=``]=n(t);e===`id`?r.id=i:e===`event`?r.event=i:e===`data`&&(r.data+=(r.data&&`
`)+i)}this.#e=this.#e.slice(e+2),r.data&&t.push(r)}return t}};function n(e){let t=e.indexOf(`:`);return t<0?[e,``]:[e.slice(0,t),e.slice(t+1).replace(/^ /,``)]}var r=4e4,i=[`online`,`resume`];async function a(n,a,o,s,c){let l=new AbortController,u=()=>l.abort();o.addEventListener(`abort`,u);for(let e of i)addEventListener(e,u),document.addEventListener(e,u);let d=setTimeout(u,r);try{let i=await e(n,{headers:a?{"Last-Event-ID":a}:{},signal:l.signal,cache:`no-store`});s();let o=new t,f=i.body.pipeThrough(new TextDecoderStream).getReader();for(let e=await f.read();!e.done;e=await f.read()){clearTimeout(d),d=setTimeout(u,r);for(let t of o.feed(e.value))c(t)}}finally{clearTimeout(d),o.removeEventListener(`abort`,u);for(let e of i)removeEventListener(e,u),document.removeEventListener(e,u)}}export{a as t};