import Experimentation
import HTTPTypes
import NIOCore
import Testing

@testable import GatewayServer

@Suite("Encoded flags")
struct FlagFormTests {
    @Test(
        "a failed flag has the protocol's code if there is one, and the matching status in a single evaluation",
        arguments: [
            (.parseError, "PARSE_ERROR", 400), (.targetingKeyMissing, "TARGETING_KEY_MISSING", 400),
            (.invalidContext, "INVALID_CONTEXT", 400), (.flagNotFound, "FLAG_NOT_FOUND", 404),
            (.general, "GENERAL", 400), (.typeMismatch, "GENERAL", 400), (.vendorFault, "GENERAL", 400),
        ] as [(ErrorCode, String, Int)]
    )
    func failures(error: ErrorCode, code: String, status: Int) {
        let form = FlagForms.form("k", .unreadable(error, "why"), nil, nil)
        #expect(form.isFailure)
        #expect(String(buffer: form.text) == #"{"errorCode":"\#(code)","errorDetails":"why","key":"k"}"#)
        #expect(EvaluationAnswer(form).status.code == status)
    }
}
