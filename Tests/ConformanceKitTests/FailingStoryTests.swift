import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// A vendor's subject without its recorded deviations, so that real cases fail over a real wire.
private struct Unrecorded: ConformanceSubject {
    private let inner = FlagshipSubject()
    var name: String { "unrecorded" }
    var capabilities: Set<Capability> { inner.capabilities }
    var reasons: [Capability: String] { inner.reasons }
    var wireFields: Set<Received.Field> { inner.wireFields }
    var wireReasons: [Received.Field: String] { inner.wireReasons }
    func open(_ world: World) async throws -> any SubjectStage { try await inner.open(world) }
}

@Suite("A failure shows its story in every format")
struct FailingStoryTests {
    private static let name = "outages/not-delivered-by-garbage"

    private func report() async throws -> ConformanceReport {
        let cases = ConformanceCase.all.filter {
            [Self.name, "holdouts/visible", "evaluation/texts"].contains($0.name)
        }
        return await ConformanceRunner().run(cases, against: [Unrecorded()])
    }

    @Test("it contains the steps, the request, the answer and the expectation, without secrets")
    func story() async throws {
        let report = try await report()
        let result = try #require(report.subjects.first?.results.first { $0.name == Self.name })
        let failure = try #require(result.outcome.failures.first)
        #expect(failure.message.contains("expected") && failure.message.contains("saw"))
        #expect(!report.isSuccess)
        let step = try #require(result.story.steps.first { $0.hasPrefix("from now on: garbage") })
        let exchange = try #require(result.story.exchanges.last { $0.fault != nil })
        let secrets = try await Unrecorded().open(.empty).secrets
        #expect(!secrets.isEmpty)
        let formats = [
            ("text", report.text()), ("json", String(decoding: try report.json(), as: UTF8.self)),
            ("junit", report.junit()), ("markdown", report.markdown()), ("html", report.html()),
        ]
        for (format, text) in formats {
            // Undoes escaping and line breaks; the words must match.
            let plain = text.replacing("&quot;", with: "\"").replacing("&#39;", with: "'").replacing("\\\"", with: "\"")
                .replacing("&gt;", with: ">").replacing("&lt;", with: "<").replacing("&amp;", with: "&")
            #expect(plain.contains(Self.name), "\(format)")
            #expect(plain.contains(failure.message), "\(format): what was expected and seen")
            #expect(plain.contains(step), "\(format): the steps")
            #expect(plain.contains(exchange.path), "\(format): the exchange")
            let line = try #require(
                exchange.request.split(separator: "\n").first { $0.lowercased().hasPrefix("content-type") }
            )
            #expect(plain.contains(line), "\(format): the request")
            #expect(plain.contains("[garbage"), "\(format): the answer")
            for secret in secrets { #expect(!plain.contains(secret), "\(format): \(secret)") }
        }
    }

    @Test("JUnit's XML is well formed, and its counts match its elements")
    func junit() async throws {
        let report = try await report()
        let counter = Counter()
        let parser = XMLParser(data: Data(report.junit().utf8))
        parser.delegate = counter
        #expect(parser.parse(), "\(parser.parserError.map { "\($0)" } ?? "")")
        let suite = try #require(counter.attributes["testsuite"])
        #expect(suite["tests"] == String(counter.counts["testcase", default: 0]))
        #expect(suite["failures"] == String(counter.counts["failure", default: 0]))
        #expect(suite["skipped"] == String(counter.counts["skipped", default: 0]))
        let all = try #require(counter.attributes["testsuites"])
        #expect(all["tests"] == suite["tests"] && all["failures"] == suite["failures"])
        #expect(counter.counts["failure"] == 1)
    }

    private final class Counter: NSObject, XMLParserDelegate {
        var counts: [String: Int] = [:]
        var attributes: [String: [String: String]] = [:]
        func parser(
            _ parser: XMLParser,
            didStartElement name: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String]
        ) {
            counts[name, default: 0] += 1
            self.attributes[name] = attributes
        }
    }
}
