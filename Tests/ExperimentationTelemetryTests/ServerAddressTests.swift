import Testing

@testable import ExperimentationTelemetry

@Suite("Server addresses")
struct ServerAddressTests {
    @Test(
        "an authority is split into host and port, even if the host is an IPv6 address",
        arguments: [
            ("example.com", "example.com", nil), ("example.com:8443", "example.com", 8443),
            ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]", "[::1]", nil), ("[::1]:9000", "[::1]", 9000),
            ("[2001:db8::1]", "[2001:db8::1]", nil), ("", "", nil),
        ] as [(String, String, Int?)]
    )
    func split(authority: String, host: String, port: Int?) {
        let address = ServerAddress(authority: authority)
        #expect(address.host == host)
        #expect(address.port == port)
    }

    @Test("trace headers reach a host by its name without the port", arguments: ["[::1]", "[::1]:9000"])
    func reached(authority: String) {
        #expect(TelemetryOptions.Propagation.hosts(["[::1]"]).reaches(authority))
        #expect(!TelemetryOptions.Propagation.hosts(["[:"]).reaches(authority))
    }

    @Test("hosts are compared regardless of case", arguments: ["api.example.com", "API.Example.com:8443"])
    func capitals(authority: String) {
        #expect(TelemetryOptions.Propagation.hosts(["Api.example.COM"]).reaches(authority))
        #expect(!TelemetryOptions.Propagation.hosts(["example.com"]).reaches(authority))
    }
}
