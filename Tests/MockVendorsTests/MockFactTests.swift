import Foundation
import Testing

@testable import MockVendors

@Suite("Provenance of a mock vendor's behavior")
struct MockFactTests {
    static let vendors: [(name: String, facts: [MockFact])] = [
        (FlagshipMock.name, FlagshipMock.facts), (SigmaMock.name, SigmaMock.facts),
        (EngageMock.name, EngageMock.facts), (EvergageMock.name, EvergageMock.facts),
        (OFREPMock.name, OFREPMock.facts), (WebhookMock.name, WebhookMock.facts),
    ]

    @Test("every vendor lists what is inferred, each fact once", arguments: vendors.map(\.name))
    func lists(vendor: String) throws {
        let facts = try #require(Self.vendors.first { $0.name == vendor }).facts
        #expect(facts.contains { $0.provenance == .inferred })
        #expect(Set(facts.map(\.behavior)).count == facts.count)
        #expect(facts.filter { $0.behavior.isEmpty || $0.behavior.hasSuffix(".") } == [])
    }

    @Test("a fact is written with its provenance in words")
    func written() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(MockFact(.read, "it does", setting: "strict")), as: UTF8.self)
        #expect(text == #"{"behavior":"it does","provenance":"read in the SDK","setting":"strict"}"#)
    }

    @Test("every setting named by Engage's facts exists")
    func engageSettings() throws {
        let settings = try JSONEncoder().encode(EngageSettings())
        var names = Set((try JSONSerialization.jsonObject(with: settings) as? [String: Any] ?? [:]).keys)
        // Not encoded while it is `nil`.
        names.insert("tokensPerHour")
        #expect(Set(EngageMock.facts.compactMap(\.setting)).subtracting(names) == [])
    }

    @Test("every setting named by Evergage's facts is an option or a part of the world")
    func evergageSettings() throws {
        for setting in Set(EvergageMock.facts.compactMap(\.setting)) {
            let value = EvergageJSON(
                parsing: (setting == "attributes" || setting == "applications" ? "{}" : "true").utf8
            )
            let isPart = (try? EvergageWorld(.object([setting: value ?? .null]))) != nil
            let isOption = (try? EvergageWorld(.object(["options": .object([setting: value ?? .null])]))) != nil
            #expect(isPart || isOption, "\(setting)")
        }
    }

    @Test("every setting named by Flagship's or Sigma's facts is in the control plane")
    func settings() async throws {
        let flagship = await FlagshipMock().control(MockRequest(method: "GET", path: "/settings"))
        let told = String(decoding: try #require(flagship).body, as: UTF8.self)
        for setting in Set(FlagshipMock.facts.compactMap(\.setting)) {
            #expect(told.contains("\"\(setting)\""), "\(told)")
        }
        let sigma = await SigmaMock().control(MockRequest(method: "GET", path: "/\(SigmaMock.token)"))
        let project = String(decoding: try #require(sigma).body, as: UTF8.self)
        for setting in Set(SigmaMock.facts.compactMap(\.setting)) {
            #expect(project.contains("\"\(setting)\""), "\(project)")
        }
    }
}
