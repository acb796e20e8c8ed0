import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import OFREPAdapter

/// A server with partly wrong answers: each fault yields one clear error or a safe default and keeps the last good
/// values.
@Suite("OFREP: a server with partly wrong answers")
struct HalfRightTests {
    /// What a session gets from a faulty answer.
    struct Outcome: Equatable, Sendable, CustomTestStringConvertible {
        /// The error; `nil` if the answer is accepted.
        var refusal: ErrorCode?
        /// The value of the faulty flag; `default` if the caller's default is read.
        var value = "first"
        var reason: Reason = .static
        var code: ErrorCode?
        var variant: String? = "default"

        var testDescription: String { refusal.map(\.rawValue) ?? "\(value) \(reason) \(code?.rawValue ?? "")" }

        static func refused(_ code: ErrorCode) -> Outcome {
            Outcome(refusal: code, value: "default", reason: .error, code: .providerNotReady, variant: nil)
        }
        static func gone() -> Outcome {
            Outcome(value: "default", reason: .error, code: .flagNotFound, variant: nil)
        }
        static func failed(_ code: ErrorCode) -> Outcome {
            Outcome(value: "default", reason: .error, code: code, variant: nil)
        }
    }

    static let outcomes: [(OFREPMockFault, Outcome)] = [
        (.notJSON, .refused(.parseError)), (.emptyBody, .refused(.parseError)), (.listAtTop, .refused(.parseError)),
        (.noFlags, .refused(.parseError)), (.flagsAsObject, .refused(.parseError)), (.flagsNull, .refused(.parseError)),
        (.deepNesting, .refused(.parseError)), (.brokenText, .refused(.parseError)), (.byteOrderMark, Outcome()),
        (.plainText, Outcome()), (.created, .refused(.vendorFault)), (.noContent, .refused(.vendorFault)),
        (.itemIsNull, .gone()), (.itemWithoutKey, .gone()), (.keyIsNumber, .gone()), (.keyIsEmpty, .gone()),
        (.sameKeyTwice, Outcome(value: "second")), (.valueIsNull, Outcome(value: "default", reason: .default)),
        (.noValue, Outcome(value: "default", reason: .default)), (.noVariant, Outcome(variant: nil)),
        (.variantIsNumber, Outcome(variant: nil)), (.noReason, Outcome(reason: .unknown)),
        (.strangeReason, Outcome(reason: Reason(rawValue: "BECAUSE"))), (.reasonIsNumber, Outcome(reason: .unknown)),
        (.errorWithoutCode, .failed(.general)), (.strangeErrorCode, .failed(.general)),
        (.errorCodeBesideValue, .failed(.general)), (.errorCodeIsNumber, .failed(.general)),
        (.metadataIsList, Outcome()), (.nestedMetadata, Outcome()), (.hugeNumber, .failed(.typeMismatch)),
        (.confirmsUnasked, .refused(.vendorFault)), (.confirmsAnything, Outcome()), (.bareTag, Outcome()),
        (.weakTag, Outcome()), (.hugeTag, Outcome()), (.sameTagAlways, Outcome()),
        (.refusesWithoutReason, .refused(.vendorFault)), (.refusesStrangely, .refused(.vendorFault)),
        (.asksForPatienceByDate, .refused(.vendorFault)), (.asksForPatienceOddly, .refused(.vendorFault)),
        (.asksForPatienceForEver, .refused(.vendorFault)),
    ]

    private static let flags = Data(#"{"flags":{"a":{"value":"first"},"b":{"value":"neighbour"}}}"#.utf8)

    private func withServer(
        _ work: (OFREPMock, MockServer, ExperimentationClient) async throws -> Void
    ) async throws {
        let mock = OFREPMock()
        mock.setOffersEvents(false)
        try await mock.load(Self.flags)
        let server = MockServer(mock)
        try await server.start()
        let client = try await ExperimentationClient(
            provider: OFREPProvider(
                configuration: OFREPConfiguration(
                    baseURL: try Endpoint(server.url),
                    token: Secret(OFREPMock.token),
                    changes: .none,
                    retry: .none
                )
            ),
            environment: ClientEnvironment(time: ManualTime())
        )
        try await work(mock, server, client)
        await client.shutdown()
        await server.stop()
    }

    @Test("a faulty first answer is one clear error or a safe default, and hides no other flag", arguments: outcomes)
    func first(fault: OFREPMockFault, expected: Outcome) async throws {
        try await withServer { mock, _, client in
            mock.set(fault)
            let session = client.session(for: User(id: "u-1"))
            let refusal = await failure(of: session)
            let details = session.details("a", default: "default")
            let outcome = Outcome(
                refusal: refusal?.code,
                value: details.value,
                reason: details.reason,
                code: details.errorCode,
                variant: details.variant
            )
            #expect(outcome == expected)
            let neighbour = session.string("b", default: "default")
            #expect(neighbour == (expected.refusal == nil ? "neighbour" : "default"))
        }
    }

    @Test(
        "an answer that is faulty as a whole removes no good value",
        arguments: outcomes.filter { $0.1.refusal != nil }.map(\.0)
    )
    func later(fault: OFREPMockFault) async throws {
        try await withServer { mock, _, client in
            let session = client.session(for: User(id: "u-1"))
            try await session.refresh()
            mock.set(fault)
            // A different question, so that a 304 has nothing to confirm.
            try session.update(["plan": "pro"])
            #expect(await failure(of: session) != nil)
            let details = session.details("a", default: "default")
            #expect((details.value, details.reason) == ("first", .stale))
        }
    }

    @Test(
        "whatever a server does with validators, new flags are seen with the next complete answer",
        arguments: [OFREPMockFault.bareTag, .weakTag, .hugeTag, .sameTagAlways]
    )
    func validators(fault: OFREPMockFault) async throws {
        try await withServer { mock, server, client in
            mock.set(fault)
            let session = client.session(for: User(id: "u-1"))
            try await session.refresh()
            try await mock.load(Data(#"{"flags":{"a":{"value":"new"}}}"#.utf8))
            try await session.refresh()
            #expect(session.string("a", default: "default") == "new")
            let sent = server.journal.last?.request.header("If-None-Match")
            #expect((sent == nil) == (fault == .hugeTag))
        }
    }

    @Test("a server that confirms every request confirms nothing for other attributes")
    func wrongConfirmation() async throws {
        try await withServer { mock, _, client in
            try await mock.load(
                Data(
                    #"{"flags":{"a":{"value":"first","rules":[{"when":[{"attribute":"plan","comparison":"equals","value":"pro"}],"value":"gold"}]}}}"#
                        .utf8
                )
            )
            mock.set(.confirmsAnything)
            let session = client.session(for: User(id: "u-1"))
            try await session.refresh()
            #expect(session.string("a", default: "default") == "first")
            try session.update(["plan": "pro"])
            try await session.refresh()
            #expect(session.string("a", default: "default") == "gold")
        }
    }

    @Test("every fault of the mock is tried")
    func complete() {
        let streams: Set<OFREPMockFault> = [
            .streamsAsObject, .uselessStreams, .strangeStreams, .streamIsJSON, .streamEndsAtOnce, .streamBabbles,
            .streamIsGone, .streamRefuses,
        ]
        #expect(Set(Self.outcomes.map(\.0)).union(streams) == Set(OFREPMockFault.allCases))
        #expect(Self.outcomes.count + streams.count >= 25)
    }
}
