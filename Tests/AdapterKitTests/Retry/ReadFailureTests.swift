import AdapterKit
import Experimentation
import Testing

@Suite("Statuses of reads")
struct ReadFailureTests {
    @Test(
        "a status has one meaning, and is the error's cause",
        arguments: [
            (200, nil), (204, nil), (299, nil), (100, ErrorCode.vendorFault), (304, .vendorFault), (400, .vendorFault),
            (401, .unauthorized), (403, .unauthorized), (404, .configuration), (407, .vendorFault), (408, .timeout),
            (413, .tooLarge), (429, .vendorFault), (431, .tooLarge), (500, .vendorFault), (504, .timeout),
            (-1, .vendorFault), (Int.max, .vendorFault),
        ]
    )
    func code(of status: Int, is code: ErrorCode?) {
        #expect(ReadFailure.code(of: status) == code)
        let error = ReadFailure.of(status: status, from: "The vendor", asking: "the rules")
        #expect(error?.code == code)
        guard let error else { return }
        #expect(error.cause as? RefusingStatus == RefusingStatus(status))
        #expect(error.message.contains("\(status)") && error.message.contains("the rules"))
    }
}
