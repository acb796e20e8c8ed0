import Experimentation
import Testing

@testable import EngageAdapter

@Suite("A merge with unreadable answers")
struct MergeAnswerTests {
    static let nonsense: [(type: String, body: String, code: ErrorCode)] = [
        ("text/html", "<html>log in</html>", .transport),
        ("text/xml", "<Envelope><Body><RESULT><SUCCESS>TRUE</SUC", .parseError),
        (
            "text/xml",
            "<!DOCTYPE b [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><Envelope><Body>&b;</Body></Envelope>",
            .parseError
        ),
    ]

    static let steps: [(operation: String, after: Int, name: String)] = [
        ("SelectRecipientData", 0, "search"), ("UpdateRecipient", 0, "claimExisting"),
        ("UpdateRecipient", 1, "releaseCurrent"),
    ]

    @Test("keeps the ids, names its step, and is completed later", arguments: steps, nonsense)
    func unreadable(
        step: (operation: String, after: Int, name: String),
        answer: (type: String, body: String, code: ErrorCode)
    ) async throws {
        let bench = EngageWorkbench()
        let engage = bench.engage()
        try await engage.begin()
        let current = try await engage.mobileIdentity.setupRecipient()
        let existing = try await bench.addRecipient(["facebook_id": "100"])
        bench.plan(.status(200, body: answer.body, type: answer.type), on: step.operation, after: step.after)
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        }
        #expect(error?.code == answer.code)
        #expect((error?.cause as? MergeInterruption)?.step == step.name)
        #expect(engage.profile.recipientID == current.recipientID)
        #expect(engage.profile.mobileUserID == current.mobileUserID)
        if step.after == 0 { #expect(try await bench.recipient(existing) == ["facebook_id": "100"]) }
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result.recipientID == existing && engage.profile.recipientID == existing)
        #expect(try await bench.recipient(existing) == ["facebook_id": "100", "Mobile User Id": current.mobileUserID])
        #expect(try await bench.recipient(current.recipientID)["Merged Recipient Id"] == existing)
    }
}
