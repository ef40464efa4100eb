package load

// The files of servers that others wrote, and the little programs that some of them run. Each
// program writes a line with /page for a request.

const asgi = `
import sys
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    with open("DIR/access.log", "a") as log:
        log.write(scope["path"] + "\n")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})
`

const envoy = `
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: PORT}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: s
          common_http_protocol_options: {max_requests_per_connection: 10}
          access_log: [{name: f, typed_config: {"@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, path: "DIR/access.log", log_format: {text_format_source: {inline_string: "%REQ(:PATH)%\n"}}}}]
          route_config: {virtual_hosts: [{name: v, domains: ["*"], routes: [{match: {prefix: "/"}, direct_response: {status: 200, body: {inline_string: ok}}}]}]}
          http_filters: [{name: envoy.filters.http.router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
      TLS(transport_socket: {name: t, typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext, common_tls_context: {alpn_protocols: [h2], tls_certificates: [{certificate_chain: {filename: "DIR/cert.pem"}, private_key: {filename: "DIR/key.pem"}}]}}})
`

const grpcio = `
from concurrent import futures
import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

log = open("DIR/access.log", "a", buffering=1)

class Counting(grpc.ServerInterceptor):
    def intercept_service(self, proceed, details):
        if details.method == "/grpc.health.v1.Health/Check":
            log.write("/page\n")
        return proceed(details)

server = grpc.server(futures.ThreadPoolExecutor(), interceptors=[Counting()])
health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
reflection.enable_server_reflection([health.SERVICE_NAME, reflection.SERVICE_NAME], server)
server.add_insecure_port("127.0.0.1:PORT")
server.start()
server.wait_for_termination()
`

const grpcJS = `
const grpc = require("@grpc/grpc-js"), fs = require("fs");
const same = bytes => bytes;
const server = new grpc.Server();
server.addService({check: {
  path: "/grpc.health.v1.Health/Check", requestStream: false, responseStream: false,
  requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
}}, {check: (call, done) => {
  fs.appendFileSync("DIR/access.log", "/page\n");
  done(null, Buffer.from([8, 1]));
}});
server.bindAsync("127.0.0.1:PORT", grpc.ServerCredentials.createInsecure(), err => { if (err) throw err; });
`

const betterSSE = `
const { createSession } = require("better-sse"), fs = require("fs"), http = require("http");
http.createServer(async (req, res) => {
  fs.appendFileSync("DIR/access.log", req.url + "\n");
  const session = await createSession(req, res);
  for (let i = 0; i < 5; i++) session.push(i);
}).listen(PORT, "127.0.0.1");
`

const starlette = `
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.routing import Route

async def page(request):
    with open("DIR/access.log", "a") as log:
        log.write("/page\n")
    async def events():
        for i in range(5):
            yield {"data": i}
    return EventSourceResponse(events())

app = Starlette(routes=[Route("/page", page)])
`

const healthProto = `syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse { enum ServingStatus { UNKNOWN = 0; SERVING = 1; } ServingStatus status = 1; }
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }
`
