/// A constant that Foundation has only on Apple platforms.
let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
