//! AES for OpenSSL::Cipher in the modes CTR, GCM and CBC. Ruby keeps keys and state.

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::consts::U12;
use aes_gcm::{AesGcm, Nonce, Tag};
use ctr::cipher::{
    Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit, KeyIvInit,
    StreamCipher, StreamCipherSeek,
};

use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

const BLOCK_BYTES: usize = 16;
/// Bytes between two checks of the request's deadline.
const CHUNK_BYTES: usize = 1 << 20;

fn refused(what: &str) -> Raise {
    raise("OpenSSL::Cipher::CipherError", what)
}

/// `cipher_ctr(key, iv, position, bytes)`: encrypts or decrypts in CTR mode. `position` is that of the first byte in
/// the whole message.
pub fn ctr(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (key, iv) = (arg(args, 0).bytes()?, arg(args, 1).bytes()?);
    let position = arg(args, 2).int()?;
    let bytes = arg(args, 3).bytes()?;
    match key.len() {
        16 => stream::<ctr::Ctr128BE<Aes128>>(context, key, iv, position, bytes),
        24 => stream::<ctr::Ctr128BE<Aes192>>(context, key, iv, position, bytes),
        _ => stream::<ctr::Ctr128BE<Aes256>>(context, key, iv, position, bytes),
    }
}

/// `cipher_gcm(key, iv, position, bytes)`: encrypts or decrypts in GCM mode, without the tag.
pub fn gcm(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (key, iv) = (arg(args, 0).bytes()?, arg(args, 1).bytes()?);
    let position = arg(args, 2).int()?;
    let bytes = arg(args, 3).bytes()?;
    // The first block of the key stream is for the tag.
    let first = [iv, &[0, 0, 0, 1]].concat();
    let position = position.saturating_add(BLOCK_BYTES as i64);
    match key.len() {
        16 => stream::<ctr::Ctr32BE<Aes128>>(context, key, &first, position, bytes),
        24 => stream::<ctr::Ctr32BE<Aes192>>(context, key, &first, position, bytes),
        _ => stream::<ctr::Ctr32BE<Aes256>>(context, key, &first, position, bytes),
    }
}

fn stream<C>(context: &mut Context<'_>, key: &[u8], iv: &[u8], position: i64, bytes: &[u8]) -> Outcome
where
    C: KeyIvInit + StreamCipher + StreamCipherSeek,
{
    let mut cipher = C::new_from_slices(key, iv).map_err(|_| refused("key or iv of a wrong length"))?;
    let position = u64::try_from(position).map_err(|_| refused("a position before the first byte"))?;
    cipher.try_seek(position).map_err(|_| refused("too many bytes for one key and iv"))?;
    let mut out = bytes.to_vec();
    for chunk in out.chunks_mut(CHUNK_BYTES) {
        cipher.try_apply_keystream(chunk).map_err(|_| refused("too many bytes for one key and iv"))?;
        if chunk.len() == CHUNK_BYTES {
            context.tick()?;
        }
    }
    Ok(Value::Bytes(out))
}

/// `cipher_seal(key, iv, auth_data, bytes)`: the tag of GCM for the whole plain text.
pub fn seal(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut bytes = arg(args, 3).bytes()?.to_vec();
    let tag = match arg(args, 0).bytes()?.len() {
        16 => sealed::<AesGcm<Aes128, U12>>(args, &mut bytes),
        24 => sealed::<AesGcm<Aes192, U12>>(args, &mut bytes),
        _ => sealed::<AesGcm<Aes256, U12>>(args, &mut bytes),
    };
    tag.map(Value::Bytes)
}

type Gcm = aes_gcm::aead::consts::U16;

fn sealed<C>(args: &[Arg<'_>], bytes: &mut [u8]) -> Result<Vec<u8>, Raise>
where
    C: AeadInOut<NonceSize = U12, TagSize = Gcm> + KeyInit,
{
    let (cipher, nonce) = opened::<C>(args)?;
    let tag = cipher.encrypt_inout_detached(&nonce, arg(args, 2).bytes()?, bytes.into());
    Ok(tag.map_err(|_| refused("too many bytes"))?.to_vec())
}

fn opened<C: KeyInit>(args: &[Arg<'_>]) -> Result<(C, Nonce<U12>), Raise> {
    let wrong = || refused("key or iv of a wrong length");
    let cipher = C::new_from_slice(arg(args, 0).bytes()?).map_err(|_| wrong())?;
    let nonce = Nonce::<U12>::try_from(arg(args, 1).bytes()?).map_err(|_| wrong())?;
    Ok((cipher, nonce))
}

/// `cipher_open(key, iv, auth_data, bytes, tag)`: whether the tag of GCM is valid for the whole encrypted text.
pub fn open(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut bytes = arg(args, 3).bytes()?.to_vec();
    let genuine = match arg(args, 0).bytes()?.len() {
        16 => is_genuine::<AesGcm<Aes128, U12>>(args, &mut bytes),
        24 => is_genuine::<AesGcm<Aes192, U12>>(args, &mut bytes),
        _ => is_genuine::<AesGcm<Aes256, U12>>(args, &mut bytes),
    };
    genuine.map(Value::Bool)
}

fn is_genuine<C>(args: &[Arg<'_>], bytes: &mut [u8]) -> Result<bool, Raise>
where
    C: AeadInOut<NonceSize = U12, TagSize = Gcm> + KeyInit,
{
    let (cipher, nonce) = opened::<C>(args)?;
    let tag = Tag::try_from(arg(args, 4).bytes()?).map_err(|_| refused("the tag must have 16 bytes"))?;
    Ok(cipher.decrypt_inout_detached(&nonce, arg(args, 2).bytes()?, bytes.into(), &tag).is_ok())
}

/// `cipher_cbc(key, iv, encrypt, bytes)`: encrypts or decrypts whole blocks in CBC mode, without padding.
pub fn cbc(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    match arg(args, 0).bytes()?.len() {
        16 => chained::<Aes128>(context, args),
        24 => chained::<Aes192>(context, args),
        _ => chained::<Aes256>(context, args),
    }
}

fn chained<C>(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt,
{
    let wrong = |_| refused("key or iv of a wrong length");
    let cipher = C::new_from_slice(arg(args, 0).bytes()?).map_err(wrong)?;
    let iv = arg(args, 1).bytes()?;
    let mut out = arg(args, 3).bytes()?.to_vec();
    if arg(args, 2).truthy() {
        let mut mode = cbc::Encryptor::inner_iv_slice_init(cipher, iv).map_err(wrong)?;
        for chunk in out.chunks_mut(CHUNK_BYTES) {
            mode.encrypt_blocks(Block::<cbc::Encryptor<C>>::slice_as_chunks_mut(chunk).0);
            context.tick()?;
        }
    } else {
        let mut mode = cbc::Decryptor::inner_iv_slice_init(cipher, iv).map_err(wrong)?;
        for chunk in out.chunks_mut(CHUNK_BYTES) {
            mode.decrypt_blocks(Block::<cbc::Decryptor<C>>::slice_as_chunks_mut(chunk).0);
            context.tick()?;
        }
    }
    Ok(Value::Bytes(out))
}
