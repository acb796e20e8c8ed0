import AdapterKit
import Experimentation
import HTTPTypes
import Testing

@Suite("Endpoints")
struct EndpointTests {
    @Test(
        "P61 an unambiguous address is accepted",
        arguments: [
            ("https://example.com", "https://example.com"), ("https://example.com/", "https://example.com"),
            ("HTTPS://Example.COM/v2/", "https://example.com/v2"),
            ("https://example.com:8443/a/b", "https://example.com:8443/a/b"),
            ("https://a-b.example-c.co.uk/x%20y", "https://a-b.example-c.co.uk/x%20y"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
            ("https://10.0.0.1/", "https://10.0.0.1"), ("https://192.168.1.1", "https://192.168.1.1"),
            ("https://1.example", "https://1.example"),
            ("http://localhost:8080/v1/", "http://localhost:8080/v1"), ("http://127.0.0.1:1/", "http://127.0.0.1:1"),
            ("http://127.255.255.254", "http://127.255.255.254"),
            ("http://[::1]:9000/a", "http://[::1]:9000/a"), ("https://[2001:db8::1]", "https://[2001:db8::1]"),
            ("https://[2001:db8:0:0:0:0:0:1]/", "https://[2001:db8:0:0:0:0:0:1]"),
            ("https://[1::8]", "https://[1::8]"), ("https://[1::]", "https://[1::]"),
            ("https://[::2:3:4:5:6:7:8]", "https://[::2:3:4:5:6:7:8]"), ("https://[0::1]", "https://[0::1]"),
            ("https://[64:ff9b::808:808]", "https://[64:ff9b::808:808]"),
            ("https://[2001:db8::a9fe:a9fe]", "https://[2001:db8::a9fe:a9fe]"),
        ]
    )
    func taken(address: String, description: String) throws {
        #expect(try Endpoint(address).description == description)
    }

    static let refused = [
        "", "example.com", "//example.com", "https:/example.com", "https://", "https:///x", "ftp://example.com",
        "file:///etc/passwd",
        "javascript://x", "ws://example.com", "http://example.com", "http://example.com/",
        "http://localhost.example.com", "http://127.0.0.1.example.com",
        "http://localhost.", "https://example.com.", "https://.example.com", "https://a..b", "https://user@example.com",
        "https://user:pw@example.com",
        "https://user:pw@127.0.0.1", "https://example.com@evil.example", "https://@example.com",
        "http://localhost@evil.example", "http://127.0.0.1#@evil.example",
        "https://example.com?x=1", "https://example.com/a?x=1", "https://example.com#f", "https://example.com/a#f",
        "https://example.com\\@evil.example",
        "https://example.com/a\\b", "https://example.com/a b", "https://example.com/ä", "https://example.com/a\nb",
        "https://example.com/%zz", "https://example.com/%2",
        "https://example.com/../x", "https://example.com/a/./b", "https://example.com/%2e%2e/x",
        "https://example.com/a//b", "https://example.com//",
        "https://bücher.example", "https://exämple.com", "https://ⓔxample.com", "https://example。com",
        "https://exa mple.com", "https://exa\tmple.com", "https://example.com:0",
        "https://example.com:65536", "https://example.com:-1", "https://example.com:", "https://example.com:80a",
        "https://example.com:8 0", "https://example.com:+80",
        "https://example.com:80:90", "https://-example.com", "https://example-.com", "https://exam_ple!.com",
        "https://127.1", "http://127.1", "http://127.0.1",
        "http://2130706433", "https://2130706433", "http://0x7f000001", "https://0x7f.0.0.1", "http://0177.0.0.1",
        "http://127.0.0.01", "https://256.1.1.1",
        "https://1.2.3", "https://1.2.3.4.5", "http://0.0.0.0", "https://0.0.0.0", "https://169.254.169.254/latest",
        "http://169.254.169.254", "https://224.0.0.1",
        "https://255.255.255.255", "http://10.0.0.1", "http://192.168.0.1", "https://[::]", "https://[fe80::1]",
        "https://[febf::1]", "https://[ff02::1]", "http://[::2]",
        "https://[::1", "https://::1", "https://[::1]x", "https://[::1%25eth0]", "https://[1:2:3:4:5:6:7:8:9]",
        "https://[1::2::3]", "https://[12345::]", "https://[:::]",
        "https://[0:0:0:0:0:0:0:0]", "https://[0::0]", "https://[0000::]", "https://[0fe80::1]",
        "https://[::ffff:a9fe:a9fe]", "https://[::ffff:e000:1]", "https://[::ffff:0:0]", "https://[::ffff:808:808]",
        "https://[0:0:0:0:0:FFFF:a9fe:a9fe]", "https://[::a9fe:a9fe]", "https://[::2]", "http://[::ffff:7f00:1]",
        "https://[64:ff9b::a9fe:a9fe]", "https://[64:ff9b::e000:1]", "https://[64:ff9b::]",
        "https://[1:2:3:4:5:6:7]", "https://[1:2:3:4:5:6:7:]", "https://[:1:2:3:4:5:6:7]", "https://[1:2:3:4::5:6:7:8]",
        "https://[:]", "https://[1:::2]",
        "https://[::ffff:127.0.0.1]", "https://[]", "http://①②⑦.0.0.1",
        "https://" + String(repeating: "a", count: 64) + ".com",
        "https://" + String(repeating: "a.", count: 200) + "com", " https://example.com", "https://example.com ",
        "https://%65xample.com", "data://x",
    ]

    @Test("P61 any other address is a configuration error, which doesn't repeat it", arguments: refused)
    func refuses(address: String) {
        let error = #expect(throws: ExperimentationError.self) { try Endpoint(address) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("pw") == false)
    }

    @Test("a request's URL is built from encoded parts")
    func request() throws {
        let endpoint = try Endpoint("https://example.com/v2/")
        let request = endpoint.request(
            .post,
            path: ["a/b", "é ü", "campaigns"],
            query: [("q", "x&y=z"), ("empty", ""), ("plus", "+")],
            headers: [.contentType: "application/json"]
        )
        #expect(request.address == "https://example.com/v2/a%2Fb/%C3%A9%20%C3%BC/campaigns?q=x%26y%3Dz&empty=&plus=%2B")
        #expect(request.method == .post)
        #expect(request.headerFields == [.contentType: "application/json"])
        #expect(try request.validated() == request)
        #expect(endpoint.request(.get).path == "/v2")
        #expect(endpoint.request(.get, endsInSlash: true).path == "/v2/")
        #expect(try Endpoint("https://example.com").request(.get).path == "/")
    }

    @Test("a path segment that servers don't read as an id is rejected when it is sent", arguments: ["", ".", ".."])
    func unsound(segment: String) throws {
        for path in [[segment], ["a", segment], [segment, "b"], ["a", segment, "b"]] {
            let request = try Endpoint("https://example.com").request(.get, path: path)
            let error = #expect(throws: ExperimentationError.self) { try request.validated() }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test("a header value that would be changed silently is rejected")
    func put() throws {
        var fields = HTTPFields()
        try fields.put("Bearer abc", for: .authorization)
        for value in ["a\r\nX: y", "a\n", "a\0b", " a", "a "] {
            #expect(throws: ExperimentationError.self) { try fields.put(value, for: .authorization) }
        }
        #expect(fields[.authorization] == "Bearer abc")
    }

    @Test("a name that no field can have, and a value that none can have, are rejected without repeating the value")
    func named() throws {
        var fields = HTTPFields()
        try fields.put("1", named: "X-Event-Id")
        #expect(fields == [try #require(HTTPField.Name("X-Event-Id")): "1"])
        for (name, value, code) in [("a b", "secret", ErrorCode.configuration), ("a", "secret\n", .invalidArgument)] {
            let error = #expect(throws: ExperimentationError.self) { try fields.put(value, named: name) }
            #expect(error?.code == code)
            #expect(error?.message.contains("secret") == false)
        }
    }

    @Test("a posted JSON has its two fields, unless the caller has others")
    func posted() throws {
        let endpoint = try Endpoint("https://example.com/v2")
        let plain = endpoint.post(json: Array("{}".utf8), path: ["a b"], query: [("c", "d")])
        #expect(plain.request.address == "https://example.com/v2/a%20b?c=d")
        #expect(plain.request.method == .post)
        #expect(plain.request.headerFields == [.accept: "application/json", .contentType: "application/json"])
        #expect(plain.body == Array("{}".utf8))
        let other = endpoint.post(json: [], path: [], headers: [.contentType: "text/plain", .authorization: "x"])
        #expect(
            other.request.headerFields
                == [.accept: "application/json", .contentType: "text/plain", .authorization: "x"]
        )
    }
}
