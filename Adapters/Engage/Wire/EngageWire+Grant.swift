import AdapterKit
import Experimentation

extension EngageWire {
    /// Parses an answer of the token endpoint.
    static func grant(_ reply: HTTPReply) throws(ExperimentationError) -> Grant {
        let members: [String: FlagValue]
        do throws(ExperimentationError) {
            members = try JSON.parse(reply.body).objectValue ?? [:]
        } catch {
            if let error = EngageErrors.error(status: reply.status, of: "token") { throw error }
            throw ExperimentationError(.transport, "token: the answer isn't complete, valid JSON")
        }
        // An error in a 200 answer is an error, too.
        if let name = members["error"]?.stringValue {
            let isOurs = ["invalid_client", "invalid_grant", "invalid_token", "unauthorized_client"].contains(name)
            if isOurs || (400..<429).contains(reply.status) && reply.status != 408 && reply.status != 425 {
                // The error's name is the vendor's and short; its description could repeat what was sent.
                throw ExperimentationError(.unauthorized, "token: the credentials were refused (\(word(name)))")
            }
            throw ExperimentationError(.transport, "token: the vendor answered an error (\(word(name)))")
        }
        if let error = EngageErrors.error(status: reply.status, of: "token") { throw error }
        guard let token = members["access_token"]?.stringValue, isToken(token) else {
            throw ExperimentationError(.transport, "token: the answer holds no access_token")
        }
        let life = members["expires_in"].flatMap { $0.doubleValue ?? $0.stringValue.flatMap(Double.init) }
        guard life.map({ $0.isFinite && $0 >= 0 }) ?? true else {
            throw ExperimentationError(.transport, "token: expires_in is not a number of seconds")
        }
        let refresh = members["refresh_token"]?.stringValue
        return Grant(
            accessToken: token,
            refreshToken: refresh.flatMap { $0.isEmpty ? nil : $0 },
            expiresIn: life.map { min($0, 365 * 86_400) }
        )
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// Makes one of the vendor's words safe for a message: short, with harmless characters only.
    static func word(_ text: String) -> String {
        String(text.prefix(40).filter { $0.isASCII && ($0.isLetter || $0.isNumber || "_-+./ ".contains($0)) })
    }
}
