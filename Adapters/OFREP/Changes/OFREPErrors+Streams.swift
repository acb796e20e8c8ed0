import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

extension OFREPErrors {
    /// Returns how a stream with this response head ended; `nil` if it opened.
    static func ending(of head: HTTPResponse, date: Date) -> OFREPListening.Ending? {
        func error(_ code: ErrorCode, _ text: String) -> ExperimentationError {
            ExperimentationError(code, "The OFREP server's event stream \(text)")
        }
        switch head.status.code {
        case 200:
            let type = head.headerFields[.contentType]?.lowercased() ?? ""
            return type.hasPrefix("text/event-stream") ? nil : .lost(error(.vendorFault, "isn't one"))
        case 204: return .refused(error(.vendorFault, "is closed permanently (204)"))
        case 401, 403: return .refused(error(.unauthorized, "refuses the credentials (\(head.status.code))"))
        default:
            return .lost(
                error(.vendorFault, "answered \(head.status.code)"),
                after: wait(in: head.headerFields, date: date)
            )
        }
    }
}
