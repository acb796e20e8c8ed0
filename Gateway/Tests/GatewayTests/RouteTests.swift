import Testing

@testable import GatewayServer

@Suite("Routes")
struct RouteTests {
    @Test(
        "a path leads to its route, and both clients' spellings of a key mean the same flag",
        arguments: [
            ("/ofrep/v1/evaluate/flags", Route.flags), ("/ofrep/v1/evaluate/flags/", .flags),
            ("/ofrep/v1/evaluate/flags/a", .flag("a")), ("/ofrep/v1/evaluate/flags/a/b", .flag("a/b")),
            ("/ofrep/v1/evaluate/flags/a%2Fb", .flag("a/b")), ("/ofrep/v1/evaluate/flags/a//b", .flag("a//b")),
            ("/ofrep/v1/evaluate/flags/a+b", .flag("a+b")), ("/ofrep/v1/evaluate/flags/%C3%A9", .flag("é")),
            ("/ofrep/v1/evaluate/flags/..", .flag("..")), ("/health", .health), ("/v1/events", .events),
        ]
    )
    func paths(path: String, expected: Route) {
        #expect(Route(path: path[...]) == expected)
    }

    @Test(
        "an unknown path has no route",
        arguments: [
            "", "/", "/ofrep/v1", "/ofrep/v1/evaluate/flagsx", "/ofrep/v1/evaluate/flags/%zz",
            "/ofrep/v1/evaluate/flags/%0", "/ofrep/v1/evaluate/flags/a%00b", "/ofrep/v1/evaluate/flags/%FF",
            "/HEALTH", "/console/../health",
        ]
    )
    func nowhere(path: String) {
        #expect(Route(path: path[...]) == nil)
    }

    @Test(
        "a target is split at its question mark, and the absolute form loses its host",
        arguments: [
            ("/a?b=c&d=%20e", "/a", "b=c&d=%20e"), ("http://host/a", "/a", ""), ("/a", "/a", ""), ("*", "*", ""),
        ]
    )
    func targets(target: String, path: String, query: String) {
        let target = Target(target)
        #expect(target.path == path)
        #expect(target.query == query)
    }

    @Test("a query parameter is decoded; one that can't be decoded counts as missing")
    func parameters() {
        let target = Target("/a?ticket=x%20y&empty=&bare&bad=%zz")
        #expect(["ticket", "empty", "bare", "bad", "other"].map { target.parameter($0) } == ["x y", "", "", nil, nil])
    }
}
