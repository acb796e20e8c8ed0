import Experimentation
import FlagManifest
import Foundation
import Testing

@testable import GatewayServer

/// A vendor that is asked for each user, and has a separate price for each.
struct Asked: ExperimentationProvider, DecisionSource {
    let name = "asked"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    let freshness = Freshness()

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self))
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        .decided(Decisions(flags: [("price", Resolution(context["price"] ?? .null, variant: "v", reason: .split))]))
    }
}

@Suite("Types of flags")
struct FlagTypeTests {
    @Test(
        "the type follows from all values that a flag can have",
        arguments: [
            ([], nil), ([.null], nil), ([true], .boolean), (["a", .null], .string), ([1, 2], .integer),
            ([1, 2.5], .float),
            ([2.5, 1], .float), ([1.0], .float), ([[1]], .object), ([[:]], .object), (["a", 1], .string),
        ] as [([FlagValue], FlagType?)]
    )
    func types(values: [FlagValue], expected: FlagType?) {
        #expect(FlagType(of: values) == expected)
    }

    @Test("a number is written in its flag's type if nothing is lost")
    func written() {
        #expect(FlagType.float.written(10) == 10.0)
        #expect(FlagType.integer.written(10.0) == 10)
        #expect(FlagType.integer.written(10.5) == 10.5)
        #expect(FlagType.float.written(.int(Int.max)) == .int(Int.max))
        #expect(FlagType.string.written(10) == 10)
    }

    @Test(
        "after one fraction, later whole numbers are floats, even after a reload"
    )
    func seen() async throws {
        let path = "/ofrep/v1/evaluate/flags/price"
        @Sendable func body(_ price: String) -> String { #"{"context":{"targetingKey":"u","price":\#(price)}}"# }
        try await Served.run(over: Asked()) { served in
            #expect(try await served.wire.post(path, body("10")).body.contains(#""value":10,"#))
            #expect(try await served.wire.post(path, body("12.5")).body.contains(#""value":12.5,"#))
            #expect(try await served.wire.post(path, body("10")).body.contains(#""value":10.0,"#))
            var tenant = Served.tenant()
            tenant.tokens.append(TokenDigest(of: "new"))
            try await served.gateway.reload([tenant])
            #expect(try await served.wire.post(path, body("10"), token: "new").body.contains(#""value":10.0,"#))
            let manifest = try await served.wire.request("GET", "/openfeature/v0/manifest", ["X-API-Key": "new"])
            #expect(manifest.body.contains(#""key":"price","type":"float""#))
            tenant.types = ["price": .integer]
            try await served.gateway.reload([tenant])
            #expect(try await served.wire.post(path, body("10")).body.contains(#""value":10,"#))
        }
    }
}
