import ConformanceKit
import ConformanceSubjects
import Testing

@Suite("Compositions keep the promises that follow from their parts, and destinations their own")
struct ConformanceTests {
    private static let played = Vendor.destinations.map(\.name) + ComposedSubject.few.map(\.name)
    private static let more = ComposedSubject.all.map(\.name).filter { !played.contains($0) }

    @Test("as watched by `xp conform`", arguments: played, ConformanceCase.all)
    func usual(subject: String, to conformanceCase: ConformanceCase) async throws {
        let complaint = try await complaint(of: subject, about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("as watched from the other parts", arguments: more, ConformanceCase.all)
    func others(subject: String, to conformanceCase: ConformanceCase) async throws {
        let complaint = try await complaint(of: subject, about: conformanceCase)
        #expect(complaint == nil)
    }

    private func complaint(of subject: String, about conformanceCase: ConformanceCase) async throws -> String? {
        try await #require(Vendor.played(subject)).complaint(about: conformanceCase)
    }

    // What each of several vendors sees doesn't depend on whose events are watched.
    @Test(
        "one vendor's failure doesn't affect the others",
        arguments: (ComposedSubject.few + [.mixed]).map(\.name),
        ConformanceCase.composing
    )
    func composing(subject: String, to conformanceCase: ConformanceCase) async throws {
        let complaint = try await complaint(of: subject, about: conformanceCase)
        #expect(complaint == nil)
    }

    @Test("only a destination without a server says that a fault can't occur")
    func impossible() {
        let kinds: [WorldFault.Kind] = [
            .status(400), .status(401), .status(413), .status(429, retryAfter: 1), .status(503),
            .delay(milliseconds: 1),
            .stall, .reset, .resetAfterApplying, .truncate, .garbage, .redirect, .html200, .vendorFailure200,
            .wrongLength, .oversized,
        ]
        func excused(_ subject: any ConformanceSubject) -> [String] {
            kinds.filter { subject.reason(forImpossible: WorldFault($0, on: .events)) != nil }.map(\.name)
        }
        for subject in Vendor.all.flatMap(\.subjects) + [WebhookSubject()] { #expect(excused(subject) == []) }
        #expect(
            excused(FileSubject()) == [
                "status", "status", "status", "resetAfterApplying", "truncate", "garbage", "redirect", "html200",
                "vendorFailure200", "wrongLength", "oversized",
            ]
        )
    }
}
